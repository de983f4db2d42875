"""What lscpu calls its lines, by version and language, and what BenchHub calls them."""

from __future__ import annotations

# BenchHub asks in the C locale; texts that people bring may be of a German, French or Japanese system.
LABELS = {
    "architecture": ("Architecture", "Architektur", "アーキテクチャ"),
    "model": ("Model name", "Modellname", "Nom de modèle", "モデル名"),
    "vendor": ("Vendor ID", "Anbieterkennung", "Identifiant constructeur", "ベンダーID"),
    "cpus": ("CPU(s)", "Processeur(s)", "CPU"),
    "online": (
        "On-line CPU(s) list", "Liste der Online-CPU(s)", "Liste de processeur(s) en ligne",
        "オンラインになっているCPUのリスト",
    ),
    "offline": (
        "Off-line CPU(s) list", "Liste der Offline-CPU(s)", "Liste de processeur(s) hors ligne",
        "オフラインになっているCPUのリスト",
    ),
    "threads_per_core": ("Thread(s) per core", "Thread(s) pro Kern", "Thread(s) par cœur", "コアあたりのスレッド数"),
    "cores_per_socket": (
        "Core(s) per socket", "Kern(e) pro Sockel", "Kern(e) pro Socket", "Cœur(s) par socket",
        "ソケットあたりのコア数",
    ),
    "cores_per_cluster": (
        "Core(s) per cluster", "Kern(e) pro Cluster", "Cœur(s) par cluster", "クラスタあたりのコア数",
    ),
    "sockets": ("Socket(s)", "CPU socket(s)", "Sockel", "ソケット数"),
    "sockets_per_book": ("Socket(s) per book", "Sockel pro Buch", "Socket(s) par livre", "ブックあたりのソケット数"),
    "books_per_drawer": ("Book(s) per drawer",),
    "books": ("Book(s)", "Buch/Bücher", "Livre(s)", "ブック数"),
    "drawers": ("Drawer(s)",),
    "clusters": ("Cluster(s)", "Cluster", "クラスタ数"),
    "mhz": ("CPU MHz", "CPU dynamic MHz", "Vitesse du processeur en MHz"),
    "max_mhz": (
        "CPU max MHz", "Maximale Taktfrequenz der CPU", "Vitesse maximale du processeur en MHz", "CPU最大MHz",
    ),
    "min_mhz": (
        "CPU min MHz", "Minimale Taktfrequenz der CPU", "Vitesse minimale du processeur en MHz", "CPU最小MHz",
    ),
    "bogomips": ("BogoMIPS",),
    "numa_nodes": ("NUMA node(s)", "NUMA-Knoten", "Nœud(s) NUMA", "NUMAノード数", "NUMAノード"),
    "hypervisor": (
        "Hypervisor vendor", "Hypervisor-Anbieter", "Constructeur d'hyperviseur", "ハイパーバイザのベンダー",
    ),
    "virtualization_type": (
        "Virtualization type", "Virtualisierungstyp", "Type de virtualisation", "仮想化タイプ",
    ),
    "cache_l1d": ("L1d cache", "L1d Cache", "Cache L1d", "L1dキャッシュ", "L1d"),
    "cache_l1i": ("L1i cache", "L1i Cache", "Cache L1i", "L1iキャッシュ", "L1i"),
    "cache_l2": ("L2 cache", "L2 Cache", "Cache L2", "L2キャッシュ", "L2"),
    "cache_l3": ("L3 cache", "L3 Cache", "Cache L3", "L3キャッシュ", "L3"),
}  # fmt: skip


def label_key(text: str) -> str:
    """Return a label without blanks and capitals, in which versions of one translation differ."""
    return "".join(text.split()).casefold()


NAMES = {label_key(label): name for name, labels in LABELS.items() for label in labels}
