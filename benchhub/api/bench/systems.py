"""Systems under test."""

from __future__ import annotations

from typing import Any, ClassVar

from benchhub.api.core.views import ReadView, RowSerializer
from benchhub.bench import models


class System(RowSerializer):
    class Meta:
        model = models.System
        fields = (
            "id", "url", "label", "instance", "driver", "hardware", "build", "configuration", "path",
            "pooler_hardware", "description", "digest",
        )  # fmt: skip


class Systems(ReadView):
    queryset = models.System.objects.order_by("pk")
    serializer_class = System
    filterset_fields: ClassVar[Any] = {
        "instance": ["exact"], "driver": ["exact"], "hardware": ["exact"], "build": ["exact"],
        "configuration": ["exact"], "path": ["exact"], "digest": ["exact"], "label": ["exact", "icontains"],
    }  # fmt: skip
