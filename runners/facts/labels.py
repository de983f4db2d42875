"""What lscpu calls its lines, by version and language, and what BenchHub calls them."""

from __future__ import annotations

# BenchHub asks in the C locale. Others are of German, French, Japanese, Spanish, Portuguese and Chinese systems, whose
# wrappers of lscpu may set their own.
LABELS = {
    "architecture": ("Architecture", "Architektur", "アーキテクチャ", "Arquitectura", "Arquitetura", "架构"),
    "model": (
        "Model name",
        "Modellname",
        "Nom de modèle",
        "モデル名",
        "Nombre del modelo",
        "Nome do modelo",
        "型号名称",
    ),
    "vendor": (
        "Vendor ID",
        "Anbieterkennung",
        "Identifiant constructeur",
        "ベンダーID",
        "ID de fabricante",
        "ID de fornecedor",
        "厂商ID",
    ),
    "cpus": ("CPU(s)", "Processeur(s)", "CPU"),
    "online": (
        "On-line CPU(s) list",
        "Liste der Online-CPU(s)",
        "Liste de processeur(s) en ligne",
        "オンラインになっているCPUのリスト",
        "Lista de la(s) CPU(s) en línea",
        "Lista de CPU(s) on-line",
        "在线CPU列表",
    ),
    "offline": (
        "Off-line CPU(s) list",
        "Liste der Offline-CPU(s)",
        "Liste de processeur(s) hors ligne",
        "オフラインになっているCPUのリスト",
        "Lista de la(s) CPU(s) fuera de línea",
        "Lista de CPU(s) off-line",
        "离线CPU列表",
    ),
    "threads_per_core": (
        "Thread(s) per core",
        "Thread(s) pro Kern",
        "Thread(s) par cœur",
        "コアあたりのスレッド数",
        "Hilo(s) de procesamiento por núcleo",
        "Thread(s) per núcleo",
        "每个核的线程数",
    ),
    "cores_per_socket": (
        "Core(s) per socket",
        "Kern(e) pro Sockel",
        "Kern(e) pro Socket",
        "Cœur(s) par socket",
        "ソケットあたりのコア数",
        "Núcleo(s) por «socket»",
        "Núcleo(s) por soquete",
        "每个座的核数",
    ),
    "cores_per_cluster": (
        "Core(s) per cluster",
        "Kern(e) pro Cluster",
        "Cœur(s) par cluster",
        "クラスタあたりのコア数",
    ),
    "sockets": ("Socket(s)", "CPU socket(s)", "Sockel", "ソケット数", "«Socket(s)»", "Soquete(s)", "座"),
    "sockets_per_book": ("Socket(s) per book", "Sockel pro Buch", "Socket(s) par livre", "ブックあたりのソケット数"),
    "books_per_drawer": ("Book(s) per drawer",),
    "books": ("Book(s)", "Buch/Bücher", "Livre(s)", "ブック数"),
    "drawers": ("Drawer(s)",),
    "clusters": ("Cluster(s)", "Cluster", "クラスタ数"),
    "mhz": ("CPU MHz", "CPU dynamic MHz", "Vitesse du processeur en MHz"),
    "max_mhz": (
        "CPU max MHz",
        "Maximale Taktfrequenz der CPU",
        "Vitesse maximale du processeur en MHz",
        "CPU最大MHz",
        "CPU MHz máx.",
    ),
    "min_mhz": (
        "CPU min MHz",
        "Minimale Taktfrequenz der CPU",
        "Vitesse minimale du processeur en MHz",
        "CPU最小MHz",
        "CPU MHz mín.",
    ),
    "bogomips": ("BogoMIPS",),
    "numa_nodes": (
        "NUMA node(s)",
        "NUMA-Knoten",
        "Nœud(s) NUMA",
        "NUMAノード数",
        "NUMAノード",
        "Modo(s) NUMA",
        "Nó(s) de NUMA",
        "NUMA节点",
    ),
    "hypervisor": (
        "Hypervisor vendor",
        "Hypervisor-Anbieter",
        "Constructeur d'hyperviseur",
        "ハイパーバイザのベンダー",
        "Fabricante del hipervisor",
        "Fabricante do hipervisor",
        "超管理器厂商",
    ),
    "virtualization_type": (
        "Virtualization type",
        "Virtualisierungstyp",
        "Type de virtualisation",
        "仮想化タイプ",
        "Tipo de virtualización",
        "Tipo de virtualização",
        "虚拟化类型",
    ),
    "cache_l1d": (
        "L1d cache",
        "L1d Cache",
        "Cache L1d",
        "L1dキャッシュ",
        "L1d",
        "Caché L1d",
        "cache de L1d",
        "L1d缓存",
    ),
    "cache_l1i": (
        "L1i cache",
        "L1i Cache",
        "Cache L1i",
        "L1iキャッシュ",
        "L1i",
        "Caché L1i",
        "cache de L1i",
        "L1i缓存",
    ),
    "cache_l2": ("L2 cache", "L2 Cache", "Cache L2", "L2キャッシュ", "L2", "Caché L2", "cache de L2", "L2缓存"),
    "cache_l3": ("L3 cache", "L3 Cache", "Cache L3", "L3キャッシュ", "L3", "Caché L3", "cache de L3", "L3缓存"),
}


def label_key(text: str) -> str:
    """Return a label without blanks and capitals, in which versions of one translation differ."""
    return "".join(text.split()).casefold()


NAMES = {label_key(label): name for name, labels in LABELS.items() for label in labels}
