"""The tables of the catalogue: what is tested, on which machine, at which price. Words: docs/words.md."""

from .clusters import Cluster, ClusterParameters, DataCopy
from .hardware import ExchangeRate, Hardware, LicenceModel, ListPrice, PriceImport
from .hosts import Host, InterferenceGroup
from .inspections import Inspection
from .instances import DataSet, Instance, PgBuild
from .revised import Revised
from .sheets import PriceSheet, PriceSheetDiscount, PriceSheetLine
from .source_builds import SourceBuild, SourceBuildLog
from .workloads import Configuration, Workload

__all__ = [
    "Cluster",
    "ClusterParameters",
    "Configuration",
    "DataCopy",
    "DataSet",
    "ExchangeRate",
    "Hardware",
    "Host",
    "Inspection",
    "Instance",
    "InterferenceGroup",
    "LicenceModel",
    "ListPrice",
    "PgBuild",
    "PriceImport",
    "PriceSheet",
    "PriceSheetDiscount",
    "PriceSheetLine",
    "Revised",
    "SourceBuild",
    "SourceBuildLog",
    "Workload",
]
