"""What lscpu calls its lines, by version and language, and what BenchHub calls them."""

from __future__ import annotations

from collections.abc import Iterator

# BenchHub asks in the C locale. Others are of German, French, Japanese, Spanish, Portuguese and Chinese systems, whose
# wrappers of lscpu may set their own; FURTHER has those of the other languages into which util-linux is translated.
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
# Each line has the name, and what it is called in these languages.
FURTHER = """\
architecture: البنية | Architektura | Arkitektur | Arhitektura | არქიტექტურა | 아키텍처 | Architectuur | Arhitectura
architecture: Архитектура | Mimari | Архітектура | Kiến trúc | 架構
model: اسم الطراز | Název modelu | Modelnavn | Mallinimi | Ime modela | Მოდელის სახელი | 모델 이름 | Modelnaam
model: Nazwa modelu | Numele modelului | Имя модели | Назив модела | Modellnamn | Modem ismi | Назва моделі
model: Tên mô hình
vendor: معرف البائع | ID výrobce | Leverandør-id | Fabrikatzailearen IDa | ID do fabricante | ID proizvođača
vendor: ID Pembuat | მომწოდებლის ID | 제조자 ID | Producent-ID | ID producenta | Identificatorul producătorului
vendor: ID прроизводителя | ИД произвођача | Tillverkar-ID | Sağlayıcı Kimliği | Ідентифікатор виробника
vendor: ID nhà sản xuất | 供應商識別號
cpus: وحدات المعالجة | Počet CPU | CPU'er | CPU(-a) | CPU's | CPU-uri | Процесори | CPU(er) | İşlemciler
online: قائمة وحدات المعالجة المتصلة | Seznam zapnutých CPU | Tilkoblet cpu(er) liste | Popis online CPU-a
online: 온라인 CPU 목록 | Online CPU's-lijst | Lista aktywnych CPU | Lista das CPUs online
online: Lista CPU-urilor în linie (conectate) | Списак присутних процесора | Lista över aktiva CPU(er)
online: Çevrimiçi işlemci(ler) listesi | Список робочих ЦП | Danh sách CPU trực tuyến
offline: قائمة وحدة (وحدات) المعالجة المركزية غير المتصلة | Seznam vypnutých CPU | Frakoblet cpu(er) liste
offline: Popis offline CPU-a | 오프라인 CPU 목록 | Offline CPU's-lijst | Lista nieaktywnych CPU
offline: Lista das CPUs offline | Lista CPU-urilor în afara liniei (deconectate) | Списак одсутних процесора
offline: Lista över inaktiva CPU(er) | Çevrimiçi işlemci listesi | Список вимкнених ЦП
offline: Danh sách CPU ngoại tuyến
threads_per_core: خيوط لكل نواة | Vláken na jádro | Tråde per kerne | Core bakoitzeko hari kopurua
threads_per_core: Dretva po jezgri | Thread(s) setiap inti | 코어 당 스레드 | Draden per kern | Wątków na rdzeń
threads_per_core: Tópicos por núcleo | Fire de execuție pe nucleu | Нити по језгру | Tråd(ar) per kärna
threads_per_core: Çekirdek başına iş parçacığı | Потоків на ядро | Số tuyến mỗi lõi | 每核心執行緒數
cores_per_socket: نوى لكل مقبس | Jader na patici | Kerner per sokkel | Socket bakoitzeko core kopurua
cores_per_socket: Jezgra po podnožju | Inti setiap soket | 소켓 당 코어 수 | Kernen per voet | Rdzeni na gniazdo
cores_per_socket: Núcleos por socket | Nuclee pe soclu | Ядер на сокет | Језгра по прикључници
cores_per_socket: Kärn(or) per uttag | Soket başına çekirdek | Số lõi mỗi đế cắm | 每通訊端核心數
cores_per_cluster: نوى لكل عنقود | Jader na klastr | Núcleo(s) por «cluster» | Jezgr(a/e) po klasteru
cores_per_cluster: 클러스터 당 코어 | Kernen per cluster | Rdzeni na klaster | Núcleos por cluster
cores_per_cluster: Núcleo(s) por cluster | Nuclee pe cluster | Језгра по кластеру | Kärnor per kluster
cores_per_cluster: Ядер на кластер
sockets: مقابس | Patic | Sokler | CPU podnožja | 소켓 | CPU-voeten | Gniazd | Sockets | Socluri | Сокетов
sockets: Прикључнице | Uttag | Soket(ler) | Сокети | Số đế cắm
threads_per_core: Потоков на ядро
mhz: CPU МГц
sockets_per_book: مقابس لكل كتاب | Patic na knihu | Sokler per bog | «Socket(s)» por libro | Podnožja po knjizi
sockets_per_book: 북 당 소켓 수 | Voeten per boek | Gniazd na tom | Sockets por livro | Soquete(s) por book
sockets_per_book: Socluri per „book” (placă modulară) | Прикључница по књизи | Uttag per bok
sockets_per_book: Kitap başına soket | Сокетів на книгу | Số Socket(s) trên mỗi lần đợi | 每个 book 的座数
books_per_drawer: كتب لكل درج | Knih na zásuvku | Bøger per skuffe | Buch/Bücher pro Schublade
books_per_drawer: Libro(s) por cajón | Livre(s) par tiroir | Knjiga po ladici | ドロワーあたりのブック数
books_per_drawer: 드로워당 북 수
books_per_drawer: Boeken per lade | Tomów na półkę | Livros por gaveta | Book(s) por drawer
books_per_drawer: „Books” (plăci modulare) pe sertar | Књига по фиоци | Böcker per låda | Sürgü başına kitap
books_per_drawer: Книг на шухляду | 每个抽屉里的 Book 数︰
books: كتب | Knihy | Bøger | Libro(s) | Knjiga | 북 | Boeken | Tomów | Livros | „Books” (plăci modulare) | Књиге
books: Böcker | Kitap(lar) | Книги | Chỗ giữ | Book
drawers: أدراج | Zásuvky | Skuffer | Schublade(n) | Cajón(es) | Tiroir(s) | Ladica | ドロワー数 | 드로워 | Lades | Półek
drawers: Gavetas | Sertare | Фиоке | Lådor | Sürgü(ler) | Шухляд | 抽屉
clusters: عناقيد | Klastrů | «Cluster(s)» | Klaster(i) | 클러스터 | Klastrów | Clustere | Кластер(и) | Kluster
clusters: Кластери
mhz: ميغاهرتز وحدة المعالجة الديناميكي | CPU dynamické MHz | CPU dynamisk MHz
mhz: Dynamische Taktfrequenz der CPU in MHz | CPU MHz dinámicos | Vitesse dynamique du processeur en MHz
mhz: Dinamička frekvencija CPU-a (MHz) | CPU 動的 MHz | 동적 CPU MHz | dynamische CPU-frequentie (MHz)
mhz: CPU dynamiczne MHz | CPU MHz dinâmicos | CPU com MHz dinâmico | Frecvența dinamică a procesorului în MHz
mhz: Динамички MHz процесора | İşlemci dinamik MHz | Динамічна частота процесора у МГц | CPU 动态 MHz
max_mhz: أقصى ميغاهرتز لوحدة المعالجة | CPU max. MHz | CPU maks. MHz | CPU max frekvencija (MHz) | 최대 CPU MHz
max_mhz: max. CPU-frequentie (MHz) | CPU MHz máximos | Frecvența maximă a procesorului în MHz
max_mhz: Највише MHz процесора | İşlemci en yüksek MHz | Макс. частота процесора у МГц
max_mhz: Tần số đồng hồ CPU tối đa (MHz)
min_mhz: أدنى ميغاهرتز لوحدة المعالجة | CPU min. MHz | CPU min frekvencija (MHz) | 최소 CPU MHz
min_mhz: min. CPU-frequentie (MHz) | CPU MHz mínimos | Frecvența minimă a procesorului în MHz
min_mhz: Најмање MHz процесора | İşlemci asgari MHz | Мін. частота процесора у МГц
min_mhz: Tần số đồng hồ CPU tối thiểu (MHz)
numa_nodes: عقدة (عقد) NUMA | Uzly NUMA | NUMA-knuder | NUMA noduak | Nodo(s) NUMA | NUMA čvor(ovi) | Titik NUMA
numa_nodes: NUMA კვანძ(ებ)-ი | NUMA 노드 | NUMA-nodes | Węzłów NUMA | Nós NUMA | Noduri NUMA | NUMA чвор(ови)
numa_nodes: NUMA nod(er) | NUMA düğümü(leri) | Вузли NUMA | Nút NUMA | NUMA 節點
hypervisor: بائع فرط المراقب | Výrobce hypervizoru | Hypervisorleverandør | Hypervisor-earen fabrikatzailea
hypervisor: Fabricante do hypervisor | Proizvođač hipervizora | Pembuat Hypervisor | 하이퍼바이저 제조
hypervisor: Hypervisorproducent | Producent hipernadzorcy | Fornecedor do hipervisor | Fabricant hipervizor
hypervisor: Разработчик гипервизора | Произвођач хипервизора | Hypervisortillverkare | Hypervizör sağlayıcı
hypervisor: Виробник гіпервізора | Nhà cung cấp bộ ảo hóa | Hypervisor 供應商
virtualization_type: نوع المحاكاة الافتراضية | Druh virtualizace | Virtualisationstype | Birtualizazio moeta
virtualization_type: Tip virtualizacije | Tipe virtualisasi | 가상화 형식 | Virtualisatiesoort | Typ wirtualizacji
virtualization_type: Tipul de virtualizare | Тип виртуализации | Врста виртуелизације | Virtualiseringstyp
virtualization_type: Sanallaştırma tipi | Тип віртуалізації | Kiểu ảo hóa | 虛擬型態
"""


def label_key(text: str) -> str:
    """Return a label without blanks and capitals, in which versions of one translation differ."""
    return "".join(text.split()).casefold()


def _further() -> Iterator[tuple[str, str]]:
    for line in FURTHER.splitlines():
        name, _, labels = line.partition(": ")
        yield from ((label, name) for label in labels.split(" | "))


NAMES = {label_key(label): name for label, name in _further()}
NAMES |= {label_key(label): name for name, labels in LABELS.items() for label in labels}
