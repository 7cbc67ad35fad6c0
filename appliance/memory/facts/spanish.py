"""How people say in Spanish who they are, what they have and what they want."""

# fmt: off
# ruff: noqa: E501
# A rule is a line, however long.
# fmt: off
from __future__ import annotations

from appliance.memory.facts.language import DATED, NUMBERED, Language, Rule
from appliance.memory.facts.patterns import pattern

_RELATIONS = {
    "mujer": "wife", "esposa": "wife", "marido": "husband", "esposo": "husband", "novia": "girlfriend", "novio": "boyfriend",
    "pareja": "partner", "prometida": "fiancée", "prometido": "fiancé", "hijo": "son", "hija": "daughter", "hijos": "child",
    "hijas": "daughter", "niño": "son", "niña": "daughter", "niños": "child", "madre": "mother", "mamá": "mother", "padre": "father",
    "papá": "father", "hermano": "brother", "hermana": "sister", "hermanos": "brother", "hermanas": "sister", "abuela": "grandmother",
    "abuelo": "grandfather", "tía": "aunt", "tío": "uncle", "primo": "cousin", "prima": "cousin", "sobrino": "nephew",
    "sobrina": "niece", "amigo": "friend", "amiga": "friend", "mejor amigo": "friend", "mejor amiga": "friend", "jefe": "boss",
    "jefa": "boss", "compañero": "colleague", "compañera": "colleague", "compañero de piso": "roommate",
    "compañera de piso": "roommate", "vecino": "neighbour", "vecina": "neighbour", "perro": "dog", "perra": "dog", "perrita": "dog",
    "perrito": "dog", "cachorro": "dog", "gato": "cat", "gata": "cat", "gatito": "cat", "mascota": "pet", "caballo": "horse",
    "conejo": "rabbit", "nieto": "grandson", "nieta": "granddaughter", "profesor": "teacher", "profesora": "teacher",
    "hijitos": "child", "perros": "dog", "gatos": "cat", "gatas": "cat", "conejos": "rabbit", "amigos": "friend", "suegra": "mother-in-law",
    "suegro": "father-in-law", "cuñado": "brother-in-law", "cuñada": "sister-in-law", "peque": "child", "peques": "child",
    "chico": "boyfriend", "chica": "girlfriend", "yaya": "grandmother", "médico": "doctor", "médica": "doctor", "dentista": "dentist",
}
_REL = r"(?P<rel>" + "|".join(sorted(_RELATIONS, key=len, reverse=True)) + r")\b"
_MY = rf"\b(?:mi|mis|nuestro|nuestra|nuestros|nuestras)(?: (?:dos|tres|cuatro|querido|querida|mejor|nuevo|nueva))? {_REL}(?: (?:mayor|menor|pequeño|pequeña))?"
_LEJOS = r"(?!mis? (?:vecin|jef|compañer|profesor|médic|dentista))"
_WHO = rf"{_MY}(?: (?P<who>[^\W\d_][\w-]{{1,24}}))?,? "
_ADV = r"(?: (?:ahora|actualmente|también|ya|todavía|aún|aquí|siempre|solo|sólo))?"
_CON = r"(?:,? (?:junto )?con (?:mi|mis)(?: [\wáéíóúñ-]+){1,3}?(?: y (?:mi|mis|nuestros?|nuestras?|los|las|dos)(?: [\wáéíóúñ-]+){1,3}?)?)?"
_LUGARES = (
    r"(?:madrid|barcelona|valencia|sevilla|bilbao|zaragoza|málaga|granada|murcia|vigo|lugo|gijón|oviedo|burgos|salamanca|toledo"
    r"|córdoba|alicante|cádiz|jaén|león|vitoria|pamplona|santander|palma|mallorca|españa|méxico|argentina|chile|colombia|perú|uruguay"
    r"|bogotá|medellín|lima|quito|caracas|santiago|buenos aires|montevideo|guadalajara|monterrey|parís|londres|berlín|roma|lisboa"
    r"|nueva york|miami|francia|alemania|italia|portugal|europa|andorra|suiza|bruselas|ámsterdam|dublín|múnich|ginebra)"
)
"""Where "trabajo en" names a place, not a firm: the best known ones."""
_SIN = r"(?P<value>carne(?! ni)|carne ni pescado|cerdo|pescado|gluten|mariscos?|huevos?|lácteos|azúcar|alcohol|café|cafeína|cerveza|vino|leche|lactosa|trigo|frutos secos|refrescos|chocolate|carne roja|ternera)\b"
_RATO = pattern(r"[^\n,;]{0,12}\b(?:hoy|esta (?:semana|noche)|por la (?:noche|tarde)|después de|antes de|entre semana|cuando|si|hasta|sin|en ayunas|tan|mucho|mucha)\b")
_EN_DIA = r"(?=(?:el|para|antes|del|este|próximo|mañana|pasado|hoy|\d)\b)"
_DIAS = r"(?:lunes|martes|miércoles|jueves|viernes|sábados?|domingos?|fines de semana|días|mañanas|tardes|noches|semanas)"
_SUELO = rf"(?:(?:todos los|todas las|cada|los) {_DIAS}(?:(?:,| y|, y) (?:los )?{_DIAS}){{0,4}}|(?:una vez|dos veces|tres veces|cuatro veces) (?:a la|por) semana)(?: (?:antes|después) de (?:trabajar|comer|cenar|clase|ir a trabajar)| por la (?:mañana|tarde|noche))?"
_HAGO = r"(?:corro|nado|entreno|medito|bailo|escalo|remo|ayuno|cocino|salgo a (?:correr|caminar|andar)|voy al? [\wáéíóúñ]+(?: de [\wáéíóúñ]+)?|voy a (?:correr|nadar)|hago [\wáéíóúñ]+|juego al? [\wáéíóúñ]+|doy clases?(?: de [\wáéíóúñ]+)?|trabajo desde casa|teletrabajo|toco [\wáéíóúñ]+)"
_ESTILO = r"(?:emojis|viñetas|listas|tecnicismos|exclamaciones|tablas|jerga|anglicismos|rodeos)"
_EVENT = (
    r"(?:boda|examen|entrevista|vuelo|cita|cita (?:con el|al|del) (?:médico|dentista)|fecha límite|fecha de entrega|plazo|entrega|mudanza|viaje|operación|cirugía"
    r"|graduación|concierto|aniversario|presentación|defensa|conferencia|fiesta|reunión|lanzamiento)"
)
_EVENTS = {
    "boda": "wedding", "examen": "exam", "entrevista": "interview", "vuelo": "flight", "cita": "appointment",
    "fecha límite": "deadline", "fecha de entrega": "deadline", "plazo": "deadline", "entrega": "deadline", "mudanza": "move",
    "charla": "talk", "ponencia": "talk", "taller": "workshop", "volamos": "flight", "viajo": "trip", "viajamos": "trip", "mudo": "move",
    "mudamos": "move", "caso": "wedding", "casamos": "wedding", "viaje": "trip", "presentación": "presentation", "lanzamiento": "launch", "reunión": "meeting", "conferencia": "conference",
}
_HEADS = (
    "ingeniero ingeniera profesor profesora maestro maestra médico médica enfermero enfermera abogado abogada arquitecto"
    " arquitecta contable contador contadora programador programadora desarrollador desarrolladora diseñador diseñadora"
    " periodista escritor escritora traductor traductora fotógrafo fotógrafa músico cocinero cocinera camarero camarera"
    " panadero panadera peluquero peluquera mecánico electricista carpintero fontanero policía bombero soldado piloto"
    " conductor conductora taxista agricultor agricultora jardinero veterinario veterinaria farmacéutico farmacéutica"
    " psicólogo psicóloga dentista fisioterapeuta investigador investigadora científico científica biólogo bióloga químico"
    " química físico física matemático matemática economista consultor consultora analista gerente director directora"
    " secretario secretaria vendedor vendedora comercial actor actriz cantante estudiante jubilado jubilada autónomo"
    " funcionario funcionaria becario becaria administrativo administrativa técnico técnica ilustrador ilustradora artista"
    " guionista editor editora bibliotecario bibliotecaria historiador historiadora auditor auditora juez jueza notario"
    " matrona chef barista repartidor repartidora entrenador entrenadora azafata emprendedor emprendedora"
).split()
_ORDER = r"(?:responde|respóndeme|contesta|contéstame|usa|utiliza|escribe|escríbeme|dame|muestra|muéstrame|explica|explícame|incluye|habla|háblame|cita|evita|mantén|llama|llámame|pon|haz|redondea|da|añade|trátame|tutéame|convierte|resume|formatea|sé)"
_NEG_ORDER = r"(?:uses|utilices|respondas|contestes|escribas|pongas|incluyas|des|hables|hagas|añadas|me llames|me hables|me trates|te disculpes)"

_GATE = pattern(_MY)
_RELATED = tuple(_RELATIONS)
_DATED = tuple("boda examen entrevista vuelo cita fecha plazo entrega mudanza viaje operación cirugía graduación concierto aniversario presentación defensa conferencia fiesta reunión lanzamiento".split())

_RULES = (
    Rule("me llamo", "profile", "name", ("me llamo",), pattern(r"\b(?:yo )?me llamo "), "person", confidence=0.95, loose=True),
    Rule("mi nombre es", "profile", "name", ("nombre es",), pattern(r"\bmi nombre(?: completo)? es "), "person", confidence=0.95, loose=True),
    Rule("hola soy", "profile", "name", ("soy",), pattern(r"\b(?:hola|buenas|buenos días|buenas tardes)[ ,!.]{1,4}soy "), "capital person", loose=True, unless=pattern(r" de\b")),
    Rule("soy NAME, tengo", "profile", "name", ("soy",), pattern(r"\bsoy (?=[^\W\d_]{2,20}(?: [^\W\d_]{2,20})?,? (?:y )?(?:tengo \d|vivo en|trabajo))"), "capital person", confidence=0.75),
    Rule("llámame", "profile", "called", ("llámame", "llamame", "llamarme"), pattern(r"\b(?:llámame|llamame|puedes llamarme|pueden llamarme) "), "person", loose=True),
    Rule("tengo años", "profile", "age", ("años",), pattern(r"\b(?:yo )?(?:tengo|cumplí|acabo de cumplir)(?: ya| casi)? "), "number", loose=True, follows=pattern(r" años\b(?! (?:de experiencia|trabajando|viviendo|aquí|en))"), also=NUMBERED),
    Rule("cumpleaños", "profile", "birthday", ("cumpleaños", "nací"), pattern(r"(?:\bmi cumpleaños es|\bnací) (?=el )"), "birthday", loose=True, confidence=0.95),
    Rule("vivo en", "profile", "home", ("vivo", "vivimos", "resido"), pattern(rf"\b(?:yo )?(?:vivo|vivimos|resido){_ADV}{_ADV}{_CON} (?:en(?: el centro de| las afueras de)?|cerca de) "), "place", confidence=0.9, unless=pattern(r" (?:hoy|esta semana|solo por)\b")),
    Rule("estoy viviendo en", "profile", "home", ("viviendo en",), pattern(r"\b(?:estoy|estamos|llevo [\w ]{2,20}) viviendo en "), "place"),
    Rule("me mudé de a", "profile", "home", ("mudé", "mudamos"), pattern(r"\b(?:me mudé|nos mudamos|me he mudado|nos hemos mudado)(?: hace poco)? (?:de|desde) "), "place", "ended", loose=True, then=(Rule("a", "profile", "home", (), pattern(r" a "), "place"),)),
    Rule("me mudé a", "profile", "home", ("mudé", "mudamos", "mudado"), pattern(r"\b(?:me mudé|nos mudamos|me he mudado|nos hemos mudado|acabo de mudarme)(?: hace poco| el año pasado)? a "), "place", loose=True),
    Rule("ya no vivo en", "profile", "home", ("ya no",), pattern(r"\bya no (?:vivo|vivimos) en "), "place", "ended", loose=True),
    Rule("vivía en", "profile", "home", ("vivía", "viví en", "vivíamos"), pattern(r"(?:\b(?:antes|de pequeño|de pequeña|de niña|de niño|de joven|cuando era (?:pequeñ[oa]|niñ[oa]|joven|estudiante),?) (?:vivía|vivíamos|viví) en |\b(?:yo )?viví en )"), "place", "ended", loose=True),
    Rule("soy de", "profile", "origin", ("soy de", "vengo de", "nací en", "crecí en"), pattern(r"\b(?:yo )?(?:soy(?: originalmente)? de|vengo de|nací en|crecí en) "), "place", confidence=0.8, unless=pattern(r" (?:que|los que)\b")),
    Rule("trabajo en", "profile", "employer", ("trabajo",), pattern(rf"\b(?:yo )?(?:trabajo|estoy trabajando){_ADV} (?:en|para) (?:el |la )?(?!{_LUGARES}\b|casa\b|ello\b|un proyecto|una app|equipo)"), "org", then=(Rule("como", "profile", "job", (), pattern(r",? como "), "job"),)),
    Rule("trabajo como", "profile", "job", ("trabajo", "trabajando"), pattern(rf"\b(?:yo )?(?:trabajo|estoy trabajando){_ADV}(?: en [\wáéíóúñ]+)? (?:como|de) (?:un |una )?"), "job", loose=True, then=(Rule("en", "profile", "employer", (), pattern(rf",? (?:en|para) (?:el |la )?(?!{_LUGARES}\b)"), "org"),)),
    Rule("soy OFICIO", "profile", "job", ("soy",), pattern(rf"\b(?:yo )?soy{_ADV}(?: un| una)? "), "job", unless=pattern(r" (?:frustrado|de corazón)\b")),
    Rule("dejé mi trabajo", "profile", "employer", ("dejé", "trabajo en"), pattern(r"\b(?:dejé mi trabajo en|ya no trabajo (?:en|para)|me despidieron de|renuncié a) "), "org", "ended", loose=True),
    Rule("antes trabajaba en", "profile", "employer", ("trabajaba",), pattern(r"\b(?:antes )?trabajaba (?:en|para) (?:el |la )?"), "capital org", "ended", loose=True),
    Rule("estudio", "profile", "studies", ("estudio", "estudiando"), pattern(rf"\b(?:yo )?(?:estudio|estoy estudiando){_ADV} (?!en |para |de |mucho|con )"), "thing", then=(Rule("en", "profile", "school", (), pattern(r" en (?:la |el )?"), "org"),)),
    Rule("hablo", "profile", "language", ("hablo", "lengua materna", "idioma materno"), pattern(r"(?:\b(?:yo )?hablo|\bmi (?:lengua materna|idioma materno) es)(?: con fluidez)?(?: el)? "), "tongue", several=True),
    Rule("aprendiendo", "profile", "learns", ("aprendiendo",), pattern(r"\bestoy aprendiendo(?: a hablar)? "), "tongue"),
    Rule("dieta", "profile", "diet", ("vega", "vege", "celi", "celí", "pesc"), pattern(rf"\b(?:yo )?(?:soy|me hice|sigo una dieta|como){_ADV} (?P<value>vegan[oa]|vegetarian[oa]|celíac[oa]|celiac[oa]|pescetarian[oa])\b"), loose=False),
    Rule("ya no soy vegetariano", "profile", "diet", ("ya no soy",), pattern(r"\bya no soy (?P<value>vegan[oa]|vegetarian[oa])\b"), "", "ended", loose=True),
    Rule("no como", "profile", "diet", ("no como", "no puedo", "no tolero", "no tomo", "no bebo", "no pruebo"), pattern(rf"(?<!hoy\s)(?<!noche\s)(?<!semana\s)(?<!tarde\s)\bno (?:como|puedo comer|tolero|tomo|bebo|pruebo|puedo tomar|puedo beber)(?: nada de| ni)? (?:el |la |los |las )?{_SIN}"), value="sin {value}", loose=True, unless=_RATO),
    Rule("ya no bebo", "profile", "diet", ("ya no", "dejé", "dejado", "dejamos", "sin "), pattern(rf"\b(?:ya no (?:como|bebo|tomo|pruebo)|(?:he|hemos) dejado(?: de (?:beber|tomar|comer))?|dejé(?: de (?:beber|tomar|comer))?|llevo [\wáéíóúñ ]{{3,20}} sin (?:beber|tomar|comer|probar)) (?:el |la |los |las )?{_SIN}"), value="sin {value}", loose=True, unless=_RATO),
    Rule("no fumo", "profile", "habit", ("fum",), pattern(r"\b(?:(?:ya )?no fumo|(?:he dejado|dejé) de fumar)\b"), value="no fumar", loose=True, confidence=0.8),
    Rule("costumbre", "profile", "habit", ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo", "fines", "días", "mañanas", "tardes", "noches", "semana"), pattern(rf"\b(?P<value>{_HAGO} {_SUELO})"), confidence=0.8),
    Rule("los DÍAS hago", "profile", "habit", ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo", "fines", "días", "mañanas", "tardes", "noches", "semana"), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:y )?(?P<value>{_SUELO},? {_HAGO})\b"), confidence=0.8),
    Rule("alérgico a", "profile", "allergy", ("alérgic", "alergia", "alergic"), pattern(r"\b(?:soy|tengo) (?:muy )?(?:al[eé]rgic[oa]|alergia) (?:al|a) "), "articled", several=True, confidence=0.95),
    Rule("salud", "profile", "health", ("diabetes", "asma", "migraña", "hipertensión", "epilepsia", "tdah", "diabético", "diabética", "intolerante", "asmático", "asmática", "daltónico", "daltónica", "artritis", "ansiedad"), pattern(r"\b(?:tengo|soy|padezco|sufro de|padezco de) (?P<value>diabetes(?: tipo [12])?|asma|migrañas?|hipertensión|epilepsia|tdah|diabétic[oa]|intolerante a la lactosa|asmátic[oa]|daltónic[oa]|artritis|ansiedad)\b")),
    Rule("mi coche es", "profile", "owns", ("coche es", "carro es", "auto es", "conduzco"), pattern(r"\b(?:mi (?:coche|carro|auto|moto) es|conduzco) (?:un |una )"), "product"),

    Rule("REL se llama", "relation", "{rel}", ("llama",), pattern(rf"{_MY},? se llaman? "), "person", several=True, confidence=0.95, loose=True, gate=_GATE),
    Rule("nombre de REL", "relation", "{rel}", ("nombre de mi",), pattern(rf"\bel nombre de mi {_REL} es "), "person", loose=True),
    Rule("tengo un REL que se llama", "relation", "{rel}", ("llama", "llamad"), pattern(rf"\b(?:tengo|tenemos) (?:un|una|dos|tres) (?:[\wáéíóúñ]+ )?{_REL}(?: [\wáéíóúñ]+)?,? (?:que se llaman?|llamad[oa]s?) "), "person", several=True, confidence=0.95, loose=True),
    Rule("tengo dos RELs, NAME", "relation", "{rel}", _RELATED, pattern(rf"\b(?:tengo|tenemos) (?:un|una|dos|tres|cuatro) (?:[\wáéíóúñ]+ )?{_REL}(?:,|:) ?"), "capital person", several=True, loose=True, confidence=0.8),
    Rule("REL NAME", "relation", "{rel}", _RELATED, pattern(rf"{_MY} "), "capital person", passing=True, confidence=0.8, gate=_GATE),
    Rule("REL, NAME", "relation", "{rel}", _RELATED, pattern(rf"{_MY}, "), "capital person", passing=True, confidence=0.8, follows=pattern(r"(?:[,.!;)]|[ \t]*$| (?:y|es|tiene|vive|está)\b)"), gate=_GATE),
    Rule("RELs NAME y NAME", "relation", "{rel}", _RELATED, pattern(r"\b(?:mis|nuestros|nuestras)(?: (?:dos|tres|cuatro))? (?P<rel>hijos|hijas|niños|perros|gatos|gatas|hermanos|hermanas|peques|amigos)(?:,|:)? "), "capital person", several=True, passing=True, confidence=0.8, gate=_GATE),
    Rule("REL cumple el", "relation", "birthday", ("cumple", "cumplirá", "cumpleaños"), pattern(rf"{_WHO}(?:cumple|cumplirá|va a cumplir)(?: (?:los )?\d{{1,3}})?(?: años)? (?=el \d)"), "birthday", subject="{who}", loose=True, also=NUMBERED),
    Rule("REL no come", "relation", "diet", ("no come", "no puede", "no toma", "no bebe"), pattern(rf"{_LEJOS}{_WHO}no (?:come|puede comer|toma|bebe|tolera)(?: nada de)? {_SIN}"), value="sin {value}", subject="{who}", loose=True, unless=_RATO, gate=_GATE),
    Rule("REL es alérgico", "relation", "allergy", ("alérgic", "alergia"), pattern(rf"{_LEJOS}{_WHO}(?:es|tiene) (?:muy )?(?:al[eé]rgic[oa]|alergia) (?:al|a) "), "articled", several=True, subject="{who}", loose=True, confidence=0.9, gate=_GATE),
    Rule("REL es DIETA", "relation", "diet", ("vega", "vege", "celí", "celi"), pattern(rf"{_LEJOS}{_WHO}es (?P<value>vegan[oa]|vegetarian[oa]|celíac[oa]|celiac[oa])\b"), subject="{who}", loose=True, gate=_GATE),
    Rule("casado con", "relation", "partner", ("casad",), pattern(r"\b(?:estoy|soy) (?:felizmente )?casad[oa] con "), "capital person"),
    Rule("REL vive en", "relation", "home", ("vive", "viven"), pattern(rf"{_WHO}viven?{_ADV} en "), "place", subject="{who}", loose=True, gate=_GATE),
    Rule("REL trabaja en", "relation", "employer", ("trabaja",), pattern(rf"{_WHO}trabaja{_ADV} (?:en|para) (?:el |la )?"), "org", subject="{who}", loose=True, gate=_GATE),
    Rule("REL tiene años", "relation", "age", ("años", "añitos"), pattern(rf"{_WHO}tiene(?: ya)? "), "number", subject="{who}", loose=True, follows=pattern(r" (?:años|añitos)\b"), also=NUMBERED, gate=_GATE),
    Rule("cumpleaños de REL", "relation", "birthday", ("cumpleaños de mi",), pattern(rf"\bel cumpleaños de mi {_REL} es "), "birthday", subject="{who}", loose=True),

    Rule("me gusta", "preference", "likes", ("gusta", "encanta", "fascina", "adoro"), pattern(r"\b(?:(?:a mí )?(?:me|nos) (?:gustan?|encantan?|fascinan?)(?: mucho| muchísimo)?|adoro) "), "articled", several=True, unless=pattern(r" (?:de esto|de este|que)\b")),
    Rule("no me gusta", "preference", "dislikes", ("gusta", "odio", "detesto", "no soporto"), pattern(r"\b(?:no me gustan?(?: nada| mucho)?|odio|detesto|no soporto) "), "articled", several=True, loose=True),
    Rule("favorito", "preference", "favourite {what}", ("favorit", "preferid"), pattern(r"\bmi (?P<what>[\wáéíóúñ]+) (?:favorit[oa]|preferid[oa]) es "), "articled", loose=True, confidence=0.9),
    Rule("prefiero a", "preference", "prefers", ("prefiero",), pattern(r"\bprefiero (?:el |la |los |las )?(?P<value>[\wáéíóúñ-]+) (?:al|a|antes que|en vez de|en lugar de) (?:el |la |los |las )?(?P<than>(?!la$)[\wáéíóúñ-]+)"), confidence=0.8),
    Rule("prefiero", "preference", "prefers", ("prefiero",), pattern(r"\bprefiero (?![^.\n]{0,40}\b(?:al?|antes|en vez|en lugar)\b)(?![\wáéíóú]+(?:ar|er|ir)\b)"), "articled", confidence=0.7),

    Rule("EVENTO es el", "date", "{event}", _DATED, pattern(rf"\b(?:mi|nuestra|nuestro|la|el) (?P<event>{_EVENT})(?: (?:del|de la|de mi|de los|de las|para el|para la|de) (?P<of>[\wáéíóúñ-]+(?: (?!es\b|será\b)[\wáéíóúñ-]+)?)| a [\wáéíóúñ]+)? (?:es|será|cae|se movió|se ha movido)(?: ahora)?(?: (?=el|mañana|pasado|hoy|este|\d))(?:a )?"), "day", loose=True, also=DATED),
    Rule("tengo EVENTO", "date", "{event}", _DATED, pattern(rf"\b(?:tengo|tenemos) (?:un |una |el |la |mi )?(?P<event>{_EVENT}) (?=el |mañana|pasado)"), "day", loose=True, also=DATED),
    Rule("EVENTO sale el", "date", "{event}", _DATED, pattern(rf"\b(?:mi|nuestro|nuestra) (?P<event>{_EVENT})(?: (?:a|de|con|para|en) [\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?)? (?:sale|empieza|comienza|es|será|va a ser) {_EN_DIA}"), "day", loose=True, also=DATED),
    Rule("el plazo termina", "date", "deadline", ("plazo", "entrega", "convocatoria"), pattern(rf"\b(?:el|la|mi) (?:plazo|convocatoria|fecha de entrega)(?: (?:para|de|del|de la|para la|para el|de los|de las) (?:la |el |los |las |mi )?(?P<of>[\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?))? (?:termina|acaba|vence|cierra|expira|se acaba) {_EN_DIA}"), "day", loose=True, also=DATED),
    Rule("doy EVENTO el", "date", "{event}", (*_DATED, "charla", "clase", "taller"), pattern(rf"\b(?:doy|tengo|hago|presento|celebro|tenemos|damos|celebramos|hacemos) (?:un |una |el |la |mi |nuestra |nuestro )(?P<event>{_EVENT}|charla|ponencia|taller)(?: (?:en|con|de|del|sobre|para) [\wáéíóúñ-]+(?: [\wáéíóúñ-]+){{0,3}}?){{0,2}} {_EN_DIA}"), "day", loose=True, also=DATED),
    Rule("vuelo a", "date", "{event}", ("vuelo", "volamos", "viajo", "viajamos", "mudo", "mudamos"), pattern(rf"\b(?:me |nos )?(?P<event>vuelo|volamos|viajo|viajamos|mudo|mudamos)(?: (?:a|para) (?P<to>[\wáéíóúñ-]+(?: (?!el\b|para\b|con\b|mañana\b|pasado\b)[\wáéíóúñ-]+)?))?(?: con [\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?)? {_EN_DIA}"), "day", also=DATED, loose=True),
    Rule("el DÍA hago", "date", "{event}", ("vuelo", "volamos", "viajo", "viajamos", "mudo", "mudamos", "caso", "casamos"), pattern(r"(?:^|(?<=[\n.!,]))[ \t]*(?:y )?(?=el (?:\d|lunes|martes|miércoles|jueves|viernes|sábado|domingo))(?=[^\n,;]{4,30}? (?:me |nos )?(?P<event>vuelo|volamos|viajo|viajamos|mudo|mudamos|caso|casamos)\b)"), "day", also=DATED),
    Rule("caduca", "date", "expiry", ("caduca", "vence"), pattern(rf"\b(?:mi|nuestro|nuestra) (?P<of>[\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?) (?:caduca|vence|expira) {_EN_DIA}"), "day", subject="{of}", loose=True, also=DATED),
    Rule("quiere para el", "date", "deadline", ("para", "antes"), pattern(rf"\b(?:el|la|los|las|mi|mis) [\wáéíóúñ-]+ (?:quieren?|necesitan?|piden?|esperan?) (?:el|la|los|las|mi|mis) (?P<of>[\wáéíóúñ-]+) (?:para|antes del) {_EN_DIA}"), "day", subject="{of}", loose=True, confidence=0.8, also=DATED),
    Rule("hay que entregar para", "date", "deadline", ("para", "antes"), pattern(rf"\b(?:tengo|tenemos|hay) que (?:entregar|enviar|mandar|presentar|terminar|pagar) (?:el|la|los|las|mi|mis) (?P<of>[\wáéíóúñ-]+)(?: [\wáéíóúñ-]+)? (?:para|antes del) {_EN_DIA}"), "day", subject="{of}", loose=True, also=DATED),
    Rule("nos casamos", "date", "wedding", ("casamos", "me caso"), pattern(r"\b(?:nos casamos|me caso) (?=el |en |mañana)"), "day", loose=True, also=DATED),
    Rule("hay que entregar", "date", "deadline", ("entregar", "entrega"), pattern(r"\btengo que entregar (?:el|la|mi) (?P<of>[\wáéíóúñ-]+) (?:antes del|para) (?:el )?"), "day", subject="{of}", loose=True, also=DATED),

    Rule("uso", "tool", "uses", ("uso ", "usamos", "utilizo", "utilizamos", "programo", "trabajo con", "estoy usando"), pattern(rf"\b(?:yo )?(?:uso|usamos|utilizo|utilizamos|programo en|trabajo con|trabajamos con|estoy usando|estamos usando){_ADV} "), "tool", several=True),
    Rule("cambié de a", "tool", "uses", ("cambié", "cambiamos", "migramos", "pasamos", "pasé", "migré"), pattern(r"\b(?:cambié|cambiamos|migramos|migré|pasamos|pasé) de "), "tool", "ended", loose=True, then=(Rule("a", "tool", "uses", (), pattern(r" a "), "tool"),)),
    Rule("actualicé a", "tool", "uses", ("actualic", "migramos a", "migré a"), pattern(r"\b(?:actualicé|actualizamos|migramos|migré) a "), "tool", loose=True),
    Rule("ya no uso", "tool", "uses", ("ya no us", "dejé de usar", "dejamos de usar"), pattern(r"\b(?:ya no (?:uso|usamos|utilizo)|dejé de usar|dejamos de usar) "), "tool", "ended", loose=True),
    Rule("mi proyecto", "project", "project", ("proyecto",), pattern(r"\bmi (?:nuevo )?proyecto (?:se llama|es) (?:un |una )?"), "thing", loose=True),
    Rule("trabajando en", "project", "project", ("trabajando en", "desarrollando", "construyendo"), pattern(r"\bestoy (?:trabajando en|desarrollando|construyendo|creando|escribiendo) (?:un |una |mi )"), "thing", confidence=0.7),

    Rule("a partir de ahora", "instruction", "instruction", ("a partir de ahora", "de ahora en adelante", "en adelante", "desde ahora"), pattern(rf"\b(?:a partir de ahora|de ahora en adelante|en adelante|desde ahora),? (?:por favor,? )?(?=(?:siempre |nunca |no )?(?:{_ORDER}|{_NEG_ORDER})\b)"), "rest", loose=True, confidence=0.95),
    Rule("siempre", "instruction", "instruction", ("siempre",), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=(?:siempre )?{_ORDER}\b[^\n]{{0,60}}(?:\bsiempre\b|(?<=siempre)[^\n]*))"), "rest", confidence=0.9),
    Rule("siempre ORDEN", "instruction", "instruction", ("siempre",), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=siempre {_ORDER}\b)"), "rest", confidence=0.9),
    Rule("nunca", "instruction", "instruction", ("nunca", "jamás", "emojis"), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:por favor,? )?(?=(?:nunca {_NEG_ORDER}\b|no {_NEG_ORDER} (?:nunca|jamás|emojis)\b))"), "rest", confidence=0.9),
    Rule("sin ESTILO", "instruction", "instruction", ("sin ", "nada de", "emojis"), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:y |por favor,? )?(?=(?:(?:sin|nada de) {_ESTILO}(?: ni \w+)?,? por favor|no (?:uses|pongas) {_ESTILO}(?: ni \w+)?(?:,? (?:por favor|gracias|nunca))?)[ \t]*(?:$|[.!\n;]))"), "rest", confidence=0.8),
    Rule("respuestas cortas", "instruction", "instruction", ("respuestas",), pattern(r"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=(?:mantén|haz|dame) (?:tus |las )?respuestas (?:más )?(?:cortas|breves|concisas|sencillas))"), "rest", confidence=0.8),
    Rule("prefiero que no", "instruction", "instruction", ("prefiero que", "preferiría que", "gustaría que"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:y |pero )?(?=(?:prefiero|preferiría|me gustaría) que (?:no |siempre |nunca )?(?:me )?(?:uses|usaras|respondas|respondieras|contestes|escribas|pongas|incluyas|hables|hablaras|trates|tutees|des|dieras)\b)"), "rest", confidence=0.85, unless=pattern(r"[^\n]*\b(?:aquí|esta vez|en este|en esta|hoy|ahora)\b")),
    Rule("quiero que siempre", "instruction", "instruction", ("siempre", "nunca"), pattern(r"\b(?:quiero|me gustaría|prefiero) que (?=(?:siempre|nunca|me respondas siempre|respondas siempre)\b)"), "rest", loose=True, confidence=0.9),
)

SPANISH = Language(
    code="es",
    rules=_RULES,
    stops=frozenset(
        "y e o pero con desde hace porque pues ya que donde cuando como en de del a al por para ahora actualmente no más yo mi mis"
        " él ella ellos si mientras es soy son era también solo sólo por favor gracias muy tan vivo trabajo tengo estoy tiene vive"
        " trabaja hoy ayer mañana jaja lol casi me te se le lo nos aunque hasta antes después sobre todo especialmente mucho el mes"
        " este esta así entonces quiero busco necesito uso usamos he ha han llevo".split()
    ) - {"el", "de", "del"} | {"de"},
    hollow=frozenset(
        "un una unos unas el la los las este esta esto ese esa eso lo mi mis tu tus su sus que qué cómo cuando donde muy más menos"
        " nada todo toda todos algo mucho mucha poco tanto aquí allí ahí ello paz casa miedo pleno mí ti no ni sí ya también tan"
        " otro otra ambos cada cualquier verlo hacerlo cuenta".split()
    ),
    leads=frozenset(
        "todavía aún y pero pues porque que hola bueno buenas ok vale sí si no, ah oye además también yo aunque mira perdón gracias ahora"
        " actualmente ya como e por cierto".split()
    ) - {"que", "si", "como", "no,"},
    bars=frozenset(
        "de del con si cuando donde dónde que qué quien quién cómo como cuál no nunca él ella dice dijo ojalá aunque antes dicen creo según".split()
    ) - {"aunque", "antes"},
    unreal=pattern(
        r"\b(?:si|ojalá|imagina\w*|imagínate|supón|supongamos|suponiendo|pongamos|digamos|haz como|como si|fuera|sería|dijo|dice|dicen|dijeron"
        r"|contó|preguntó|escribió|según|por ejemplo|p\.ej|ejemplo|traduc\w*|cuento|historia|poema|novela|no es verdad|nadie|cree|piensa|sueño)\b"
    ),
    unsure=pattern(r"\b(?:quizás?|tal vez|a lo mejor|quizá|quisiera|quiero|espero|podría|gustaría|creo que no)\b"),
    harmless=pattern(r"\b(?:es que|como (?:ya )?(?:te )?dije|ya te (?:he dicho|dije) que|recuerda que|ten en cuenta que|si te sirve)"),
    undone=pattern(r"(?:,? (?:verdad|no|cierto|no\?)$|[ \t]*\?|[^\n]{0,40}\bes broma\b)"),
    elsewhere=pattern(
        r"(?:\b(?:traduc\w*|tradúce\w*|corrig\w*|corríge\w*|resum\w*|reescrib\w*|reformul\w*|mejora|revisa|acorta)\b[^\n]{0,100}(?::|\n|$)|\btraduc\w*\b|\btradúce\w*\b|\bcómo se dice\b"
        r"|\b(?:escribe|escríbeme|redacta|inventa) (?:un |una )?(?:[\wáéíóúñ]+ ){0,2}(?:cuento|historia|poema|novela|diálogo|escena|carta|correo|email|mensaje|texto|discurso|canción|relato)\b"
        r"|\b(?:imagina|imagínate|supón|supongamos|pongamos que|digamos que|haz como|haz de cuenta|juego de rol|actúa como|eres un|eres una|hagamos como|finge|fingimos)\b"
        r"|\b(?:aquí está|este es|el siguiente|la siguiente) (?:el |la |un |una )?(?:[\wáéíóúñ]+ ){0,2}(?:texto|correo|mensaje|carta|ejemplo|párrafo|artículo)\b|\bpor ejemplo[,:]|\bp\.ej\.|\bfrases? como\b)"
    ),
    tail=pattern(r"[ \t]*(?:[,;:–—.-]+[ \t]*)?(?:(?:y|pero|así que) )?¿?(?:qué|cuál|cuáles|dónde|cómo|cuándo|quién|por qué|puedes|puedo|podrías|debería|es|son|hay|tengo|me|sabes|conoces|cuánto|cuánta)\b[^\n]{6,}"),
    asking=pattern(r"[ \t]*(?:y |pero |hola,? )?(?:qué|cuál|dónde|cómo|cuándo|quién|puedes|puedo|debería|es|son|hay|vivo|trabajo|soy|tengo)\b"),
    not_names=frozenset(
        "no el la los las un una muy de del que con por para en y o pero yo tú él ella mi tu su lunes martes miércoles jueves viernes"
        " sábado domingo español española feliz triste cansado cansada nuevo nueva listo lista así más vive trabaja tiene es está dice"
        " dijo mayor menor se me te le nos era fue hoy mañana ayer luego después cuando si".split()
    ),
    heads=pattern("(?:" + "|".join(sorted(set(_HEADS), key=len, reverse=True)) + ")"),
    tongues={
        "español": "Spanish", "castellano": "Spanish", "inglés": "English", "alemán": "German", "francés": "French",
        "italiano": "Italian", "portugués": "Portuguese", "catalán": "Catalan", "euskera": "Basque", "gallego": "Galician",
        "japonés": "Japanese", "chino": "Chinese", "mandarín": "Mandarin", "coreano": "Korean", "ruso": "Russian",
        "árabe": "Arabic", "holandés": "Dutch", "neerlandés": "Dutch", "polaco": "Polish", "sueco": "Swedish", "griego": "Greek",
        "turco": "Turkish", "quechua": "Quechua", "guaraní": "Guarani", "latín": "Latin", "danés": "Danish", "noruego": "Norwegian",
    },
    relations=_RELATIONS,
    events=_EVENTS,
)
