"""The fact rules of Spanish: how people say who they are, what they have and what they want."""

# A rule is one line, however long.
# ruff: noqa: E501
# fmt: off
from __future__ import annotations

from dataclasses import replace

from appliance import languages
from appliance.languages.language import full_names
from appliance.memory.facts.grammar import (
    AGED,
    CHANGE,
    DATED,
    NUMBERED,
    FactGrammar,
    FactRule,
    clause_opening,
    longest_first,
    opening,
    pattern,
)

_REL = rf"(?P<rel>{longest_first(languages.SPANISH.relations)})\b"
_MY = rf"\b(?:mi|mis|nuestro|nuestra|nuestros|nuestras)(?: (?:dos|tres|cuatro|querido|querida|mejor|nuevo|nueva))? {_REL}(?: (?:mayor|menor|pequeño|pequeña))?"
_DISTANT = r"(?!mis? (?:vecin|jef|compañer|profesor|médic|dentista))"
_WHO = rf"{_MY}(?: (?P<who>[^\W\d_][\w-]{{1,24}}))?,? "
_ADV = r"(?: (?:ahora|actualmente|también|ya|todavía|aún|aquí|siempre|solo|sólo))?"
_WITH = r"(?:,? (?:junto )?con (?:mi|mis)(?: [\wáéíóúñ-]+){1,3}?(?: y (?:mi|mis|nuestros?|nuestras?|los|las|dos)(?: [\wáéíóúñ-]+){1,3}?)?)?"
# Best-known places: after "trabajo en" they are no firm.
_PLACES = (
    r"(?:madrid|barcelona|valencia|sevilla|bilbao|zaragoza|málaga|granada|murcia|vigo|lugo|gijón|oviedo|burgos|salamanca|toledo"
    r"|córdoba|alicante|cádiz|jaén|león|vitoria|pamplona|santander|palma|mallorca|españa|méxico|argentina|chile|colombia|perú|uruguay"
    r"|bogotá|medellín|lima|quito|caracas|santiago|buenos aires|montevideo|guadalajara|monterrey|parís|londres|berlín|roma|lisboa"
    r"|nueva york|miami|francia|alemania|italia|portugal|europa|andorra|suiza|bruselas|ámsterdam|dublín|múnich|ginebra)"
)
_FOODS = r"(?P<value>carne(?! ni)|carne ni pescado|cerdo|pescado|gluten|mariscos?|huevos?|lácteos|azúcar|alcohol|café|cafeína|cerveza|vino|leche|lactosa|trigo|frutos secos|refrescos|chocolate|carne roja|ternera)\b"
_AWHILE = pattern(r"[^\n,;]{0,12}\b(?:hoy|esta (?:semana|noche)|por la (?:noche|tarde)|después de|antes de|entre semana|cuando|si|hasta|sin|en ayunas|tan|mucho|mucha)\b")
_SOON = r"(?=(?:el|para|antes|del|este|próximo|mañana|pasado|hoy|\d)\b)"
_WEEKDAYS = full_names(languages.SPANISH.temporal.weekdays)
_DAY = rf"(?:(?:{'|'.join(_WEEKDAYS)})s?|fines de semana|días|mañanas|tardes|noches|semanas)"
_REGULARLY = rf"(?:(?:todos los|todas las|cada|los) {_DAY}(?:(?:,| y|, y) (?:los )?{_DAY}){{0,4}}|(?:una vez|dos veces|tres veces|cuatro veces) (?:a la|por) semana)(?: (?:antes|después) de (?:trabajar|comer|cenar|clase|ir a trabajar)| por la (?:mañana|tarde|noche))?"
_HABIT = r"(?:corro|nado|entreno|medito|bailo|escalo|remo|ayuno|cocino|salgo a (?:correr|caminar|andar)|voy al? [\wáéíóúñ]+(?: de [\wáéíóúñ]+)?|voy a (?:correr|nadar)|hago [\wáéíóúñ]+|juego al? [\wáéíóúñ]+|doy clases?(?: de [\wáéíóúñ]+)?|trabajo desde casa|teletrabajo|toco [\wáéíóúñ]+)"
_STYLE = r"(?:emojis|viñetas|listas|tecnicismos|exclamaciones|tablas|jerga|anglicismos|rodeos)"
_EVENT = (
    r"(?:boda|examen|entrevista|vuelo|cita (?:con (?:el|la|mi)|al|del|de la|de mi) (?:médic[oa]|dentista|doctor|doctora)|cita médica|cita|fecha límite|fecha de entrega|plazo|entrega|mudanza|viaje|operación|cirugía"
    r"|graduación|concierto|aniversario|presentación|defensa|conferencia|fiesta|reunión|lanzamiento)"
)
_EVENTS = {
    **{f"cita {of} {who}": name for of in ("con el", "con la", "con mi", "al", "del", "de la", "de mi") for who, name in (("médico", "doctor's appointment"), ("médica", "doctor's appointment"), ("doctor", "doctor's appointment"), ("doctora", "doctor's appointment"), ("dentista", "dentist appointment"))},
    "cita médica": "doctor's appointment", "boda": "wedding", "examen": "exam", "entrevista": "interview", "vuelo": "flight", "cita": "appointment",
    "fecha límite": "deadline", "fecha de entrega": "deadline", "plazo": "deadline", "entrega": "deadline", "mudanza": "move",
    "charla": "talk", "ponencia": "talk", "taller": "workshop", "volamos": "flight", "viajo": "trip", "viajamos": "trip", "mudo": "move",
    "mudamos": "move", "caso": "wedding", "casamos": "wedding", "viaje": "trip", "presentación": "presentation", "lanzamiento": "launch", "reunión": "meeting", "conferencia": "conference",
}
_ORDER = r"(?:responde|respóndeme|contesta|contéstame|usa|utiliza|escribe|escríbeme|dame|muestra|muéstrame|explica|explícame|incluye|habla|háblame|cita|evita|mantén|llama|llámame|pon|haz|redondea|da|añade|trátame|tutéame|convierte|resume|formatea|sé)"
_NEG_ORDER = r"(?:uses|utilices|respondas|contestes|escribas|pongas|incluyas|des|hables|hagas|añadas|me llames|me hables|me trates|te disculpes)"

# "En una empresa que se llama Nubela".
_CALLED = r"(?:un[ao]? [\wáéíóúñ-]+(?: [\wáéíóúñ-]+){0,3}? (?:que se llama|llamad[oa]|de nombre) )?"

_SELF_OPENING = opening(r"(?:mis?\b|nuestr)")
_CLAUSE_OPENING = clause_opening(r"(?:mis?\b|nuestr)")
_OWNED = frozenset(("mi", "mis", "nues"))
_RELATION_OPENING = opening(_MY.removeprefix(r"\b"))
_RELATED = tuple(languages.SPANISH.relations)
_DATED = tuple("boda examen entrevista vuelo cita fecha plazo entrega mudanza viaje operación cirugía graduación concierto aniversario presentación defensa conferencia fiesta reunión lanzamiento".split())

# "Ya no vivo en Madrid, sino en Sevilla": what holds instead of what is denied.
_SINO = r",? sino (?:ahora |que ahora )?"
_SINO_EN = FactRule("sino en", "profile", "home", (), pattern(rf"{_SINO}en "), "capital place")

_RULES = (
    FactRule("me llamo", "profile", "name", ("me llamo",), pattern(r"\b(?:yo )?me llamo "), "person", confidence=0.95, can_follow_words=True),
    FactRule("mi nombre es", "profile", "name", ("nombre es",), pattern(r"\bmi nombre(?: completo)? es "), "person", confidence=0.95, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("hola soy", "profile", "name", ("soy",), pattern(r"\b(?:hola|buenas|buenos días|buenas tardes)[ ,!.]{1,4}soy "), "capital person", can_follow_words=True, unless=pattern(r" de\b")),
    FactRule("soy NAME, tengo", "profile", "name", ("soy",), pattern(r"\bsoy (?=[^\W\d_]{2,20}(?: [^\W\d_]{2,20})?,? (?:y )?(?:tengo \d|vivo en|trabajo))"), "capital person", confidence=0.75),
    FactRule("llámame", "profile", "called", ("llámame", "llamame", "llamarme"), pattern(r"\b(?:llámame|llamame|puedes llamarme|pueden llamarme) "), "person", can_follow_words=True),
    FactRule("tengo años", "profile", "age", ("años",), pattern(r"\b(?:yo )?(?:tengo|cumplí|acabo de cumplir)(?: ya| casi)? "), "number", can_follow_words=True, follows=pattern(r" años\b(?! (?:de experiencia|trabajando|viviendo|aquí|en))"), required_prefixes=NUMBERED),
    FactRule("cumpleaños", "profile", "birthday", ("cumpleaños", "nací"), pattern(r"(?:\bmi cumpleaños es|\bnací) (?=el )"), "birthday", can_follow_words=True, confidence=0.95),
    FactRule("vivo en", "profile", "home", ("vivo", "vivimos", "resido"), pattern(rf"\b(?:yo )?(?:vivo|vivimos|resido){_ADV}{_ADV}{_WITH} (?:en(?: el centro de| las afueras de)?|cerca de) "), "place", confidence=0.9, unless=pattern(r" (?:hoy|esta semana|solo por)\b")),
    FactRule("estoy viviendo en", "profile", "home", ("viviendo en",), pattern(r"\b(?:estoy|estamos|llevo [\w ]{2,20}) viviendo en "), "place"),
    FactRule("me mudé de a", "profile", "home", ("mudé", "mudamos"), pattern(r"\b(?:me mudé|nos mudamos|me he mudado|nos hemos mudado)(?: hace poco)? (?:de|desde) "), "place", "ended", can_follow_words=True, continuations=(FactRule("a", "profile", "home", (), pattern(r" a "), "place"),)),
    FactRule("me mudé a", "profile", "home", ("mudé", "mudamos", "mudado"), pattern(r"(?:\b(?:me mudé|me he mudado|nos hemos mudado|acabo de mudarme)|(?:(?<!\w\s)|\b(?:ayer|hace [\w ]{3,15}|en (?:19|20)\d\d) )nos mudamos)(?: hace poco| el año pasado)? a "), "place", can_follow_words=True),
    FactRule("ya no vivo en", "profile", "home", ("ya no",), pattern(r"\bya no (?:vivo|vivimos) en "), "place", "ended", can_follow_words=True, continuations=(_SINO_EN,)),
    FactRule("no vivo en, sino", "profile", "home", ("sino",), pattern(r"\bno (?:vivo|vivimos) en "), "place", "ended", can_follow_words=True, follows=pattern(_SINO), continuations=(_SINO_EN,)),
    FactRule("vivía en", "profile", "home", ("vivía", "viví en", "vivíamos"), pattern(r"(?:\b(?:antes|de pequeño|de pequeña|de niña|de niño|de joven|cuando era (?:pequeñ[oa]|niñ[oa]|joven|estudiante),?) (?:vivía|vivíamos|viví) en |\b(?:yo )?viví en )"), "place", "ended", can_follow_words=True),
    FactRule("soy de", "profile", "origin", ("soy de", "vengo de", "crecí en"), pattern(r"\b(?:yo )?(?:soy(?: originalmente)? de|vengo de|crecí en) "), "place", confidence=0.8, unless=pattern(r" (?:que|los que)\b")),
    FactRule("trabajo en", "profile", "employer", ("trabajo",), pattern(rf"\b(?:yo )?(?:trabajo|estoy trabajando){_ADV} (?:en|para) {_CALLED}(?:el |la )?(?!{_PLACES}\b|casa\b|ello\b|un proyecto|una app|equipo)"), "org", continuations=(FactRule("como", "profile", "job", (), pattern(r",? como "), "job"),)),
    FactRule("trabajo como", "profile", "job", ("trabajo", "trabajando"), pattern(rf"\b(?:yo )?(?:trabajo|estoy trabajando){_ADV}(?: en [\wáéíóúñ]+)? (?:como|de) (?:un |una )?"), "job", can_follow_words=True, continuations=(FactRule("en", "profile", "employer", (), pattern(rf",? (?:en|para) {_CALLED}(?:el |la )?(?!{_PLACES}\b)"), "org"),)),
    FactRule("soy OFICIO", "profile", "job", ("soy",), pattern(rf"\b(?:yo )?soy{_ADV}(?: un| una)? "), "job", unless=pattern(r" (?:frustrado|de corazón)\b")),
    FactRule("dejé mi trabajo", "profile", "employer", ("dejé", "trabajo en"), pattern(r"\b(?:dejé mi trabajo en|ya no trabajo (?:en|para)|me despidieron de|renuncié a) (?:el |la )?"), "org", "ended", can_follow_words=True, continuations=(FactRule("sino en", "profile", "employer", (), pattern(rf"{_SINO}(?:en|para) (?:el |la )?"), "capital org"),)),
    FactRule("antes trabajaba en", "profile", "employer", ("trabajaba",), pattern(r"\b(?:antes )?trabajaba (?:en|para) (?:el |la )?"), "capital org", "ended", can_follow_words=True),
    FactRule("empecé en", "profile", "employer", ("empecé", "empezado", "comencé"), pattern(rf"\b(?:empecé|he empezado|comencé)(?: a trabajar)? (?:en|para) (?:el |la )?(?!{_PLACES}\b)"), "capital org", can_follow_words=True, unless=pattern(r" (?:a|con el|el curso)\b")),
    FactRule("soy autónoma", "profile", "employment", ("autónom", "autonom", "por mi cuenta", "jubilad", "en paro", "en el paro", "desemplead", "sin trabajo", "de baja"), pattern(rf"\b(?:(?:soy|estoy|me he hecho|me hice|trabajo){_ADV}|llevo [\wáéíóúñ ]{{3,20}}) (?P<value>autónom[oa]|por mi cuenta|jubilad[oa]|en (?:el )?paro|desemplead[oa]|sin trabajo|de baja (?:maternal|paternal))\b"), can_follow_words=True, confidence=0.85),
    FactRule("vivo en la calle", "profile", "address", ("vivo en", "vivimos en"), pattern(r"\b(?:vivo|vivimos)(?: ahora)? en (?:la |el )?(?P<value>(?:calle|avenida|avda\.?|plaza|paseo|c/|camino|carrer) ?[\wáéíóúñ .]{2,40}?,? (?:n\.?º? ?|número )?\d{1,4}\b(?:, ?[\wáéíóúñ]+)?)"), confidence=0.85, can_follow_words=True, required_prefixes=NUMBERED),
    FactRule("mi piso está en", "profile", "home", ("piso", "casa", "apartamento", "departamento"), pattern(r"\b(?:mi|nuestro|nuestra) (?:nuevo |nueva )?(?:piso|casa|apartamento|departamento) está(?: ahora)? en "), "capital place", confidence=0.8, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("nos hemos separado", "relation", "status", ("separ", "divorci"), pattern(r"\b(?:(?:me he|nos hemos) (?P<value>separado|divorciado)|(?:me|mi (?:marido|mujer|esposo|esposa|pareja) y yo nos) (?P<value2>separé|separamos|divorcié|divorciamos)|estoy (?P<value3>separad[oa]))\b(?= *(?:$|[.,;!\n]|de mi (?:marido|mujer|esposo|esposa|pareja)\b|hace\b|en\b|el\b|y\b))"), can_follow_words=True, confidence=0.8),
    FactRule("separación", "relation", "partner", ("separ", "divorci", "romp", "cortado"), pattern(r"\b(?:(?:me he separado|me separé|me he divorciado|me divorcié|he roto|rompí|he cortado|corté) (?:de|con) mi (?:marido|mujer|esposo|esposa|pareja|novio|novia)|mi (?:marido|mujer|esposo|esposa|pareja|novio|novia) y yo (?:nos (?:hemos separado|separamos|hemos divorciado|divorciamos)|hemos roto|rompimos|lo hemos dejado))\b"), "", "ended", value="", can_follow_words=True, confidence=0.75),
    FactRule("me mudo a", "project", "plans", ("mudo", "mudamos"), pattern(r"\b(?:me mudo|nos vamos a mudar|me voy a mudar|nos mudamos(?= a [\wáéíóúñ]+ (?:el|en|pronto|dentro)))(?: pronto)? a "), "capital place", value="mudarse a {value}", confidence=0.8, unless=pattern(r" (?:el (?:\d|próximo|mes|lunes|martes|miércoles|jueves|viernes)|en [a-z]+ *(?:$|[.,;!]))")),
    FactRule("me mudo a el mes que viene", "date", "{event}", ("mudo", "mudamos", "mudar"), pattern(r"\b(?:me |nos )(?P<event>mudo|mudamos) a (?P<to>[\wáéíóúñ-]+) (?=el (?:mes|año) que viene|el próximo (?:mes|año)|en [a-z]+\b)(?:en (?=[a-z]+))?"), "day", can_follow_words=True),
    FactRule("estudio", "profile", "studies", ("estudio", "estudiando"), pattern(rf"\b(?:yo )?(?:estudio|estoy estudiando){_ADV} (?!en |para |de |mucho|con )"), "thing", continuations=(FactRule("en", "profile", "school", (), pattern(r" en (?:la |el )?"), "org"),)),
    FactRule("hablo", "profile", "language", ("hablo", "lengua materna", "idioma materno"), pattern(r"(?:\b(?:yo )?hablo|\bmi (?:lengua materna|idioma materno) es)(?: con fluidez)?(?: el)? "), "tongue", accepts_list=True),
    FactRule("aprendiendo", "profile", "learns", ("aprendiendo",), pattern(r"\bestoy aprendiendo(?: a hablar)? "), "tongue"),
    FactRule("dieta", "profile", "diet", ("vega", "vege", "celi", "celí", "pesc"), pattern(rf"\b(?:yo )?(?:soy|me hice|sigo una dieta|como){_ADV} (?P<value>vegan[oa]|vegetarian[oa]|celíac[oa]|celiac[oa]|pescetarian[oa])\b"), can_follow_words=False),
    FactRule("ya no soy vegetariano", "profile", "diet", ("ya no soy",), pattern(r"\bya no soy (?P<value>vegan[oa]|vegetarian[oa])\b"), "", "ended", can_follow_words=True),
    FactRule("no como", "profile", "diet", ("no como", "no puedo", "no tolero", "no tomo", "no bebo", "no pruebo"), pattern(rf"(?<!hoy\s)(?<!noche\s)(?<!semana\s)(?<!tarde\s)\bno (?:como|puedo comer|tolero|tomo|bebo|pruebo|puedo tomar|puedo beber)(?: nada de| ni)? (?:el |la |los |las )?{_FOODS}"), value="sin {value}", can_follow_words=True, unless=_AWHILE),
    FactRule("ya no bebo", "profile", "diet", ("ya no", "dejé", "dejado", "dejamos", "sin "), pattern(rf"\b(?:ya no (?:como|bebo|tomo|pruebo)|(?:he|hemos) dejado(?: de (?:beber|tomar|comer))?|dejé(?: de (?:beber|tomar|comer))?|llevo [\wáéíóúñ ]{{3,20}} sin (?:beber|tomar|comer|probar)) (?:el |la |los |las )?{_FOODS}"), value="sin {value}", can_follow_words=True, unless=_AWHILE),
    FactRule("no fumo", "profile", "habit", ("fumo", "fumar"), pattern(r"\b(?:(?:ya )?no fumo|(?:he dejado|dejé) de fumar)\b"), value="no fumar", can_follow_words=True, confidence=0.8),
    FactRule("costumbre", "profile", "habit", (*_WEEKDAYS, "fines", "días", "mañanas", "tardes", "noches", "semana"), pattern(rf"\b(?P<value>{_HABIT} {_REGULARLY})"), confidence=0.8),
    FactRule("los DÍAS hago", "profile", "habit", (*_WEEKDAYS, "fines", "días", "mañanas", "tardes", "noches", "semana"), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:y )?(?P<value>{_REGULARLY},? {_HABIT})\b"), confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("alérgico a", "profile", "allergy", ("alérgic", "alergia", "alergic"), pattern(r"\b(?:soy|tengo) (?:muy )?(?:al[eé]rgic[oa]|alergia) (?:al|a) "), "articled", accepts_list=True, confidence=0.95),
    FactRule("salud", "profile", "health", ("diabetes", "asma", "migraña", "hipertensión", "epilepsia", "tdah", "diabético", "diabética", "intolerante", "asmático", "asmática", "daltónico", "daltónica", "artritis", "ansiedad"), pattern(r"\b(?:tengo|soy|padezco|sufro de|padezco de) (?P<value>diabetes(?: tipo [12])?|asma|migrañas?|hipertensión|epilepsia|tdah|diabétic[oa]|intolerante a la lactosa|asmátic[oa]|daltónic[oa]|artritis|ansiedad)\b")),
    FactRule("toco INSTRUMENTO", "profile", "plays", ("toco",), pattern(r"\b(?:yo )?toco(?: también)? (?:el |la )?(?P<value>violín|piano|guitarra|viola|violonchelo|chelo|contrabajo|flauta|clarinete|oboe|trompeta|trombón|saxofón|batería|arpa|órgano|acordeón|ukelele|bajo|armónica)\b"), confidence=0.85),
    FactRule("mi coche es", "profile", "owns", ("coche es", "carro es", "auto es", "conduzco"), pattern(r"\b(?:mi (?:coche|carro|auto|moto) es|conduzco) (?:un |una )"), "product"),

    FactRule("REL se llama", "relation", "{rel}", ("llama",), pattern(rf"{_MY},? se llaman? "), "person", accepts_list=True, confidence=0.95, can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("nombre de REL", "relation", "{rel}", ("nombre de mi",), pattern(rf"\bel nombre de mi {_REL} es "), "person", can_follow_words=True),
    FactRule("tengo un REL que se llama", "relation", "{rel}", ("llama", "llamad"), pattern(rf"\b(?:tengo|tenemos) (?:[\wáéíóúñ]+ (?:[\wáéíóúñ]+ ){{1,3}}y )?(?:un|una|dos|tres) (?:[\wáéíóúñ]+ )?{_REL}(?: [\wáéíóúñ]+)?,? (?:que se llaman?|llamad[oa]s?) "), "person", accepts_list=True, confidence=0.95, can_follow_words=True),
    FactRule("tengo dos RELs, NAME", "relation", "{rel}", _RELATED, pattern(rf"\b(?:tengo|tenemos) (?:un|una|dos|tres|cuatro) (?:[\wáéíóúñ]+ )?{_REL}(?:,|:) ?"), "capital person", accepts_list=True, can_follow_words=True, confidence=0.8, required_prefixes=frozenset(("teng", "tene"))),
    FactRule("REL es TÍTULO NAME", "relation", "{rel}", ("dr", "dra", "sr", "sra", "prof", "profa", "lic"), pattern(rf"{_MY} es (?:el |la )?(?=(?:dr|dra|sr|sra|prof|profa|lic)\b)"), "capital person", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL NAME", "relation", "{rel}", _RELATED, pattern(rf"{_MY} "), "capital person", is_presupposed=True, confidence=0.8, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL, NAME", "relation", "{rel}", _RELATED, pattern(rf"{_MY}, "), "capital person", is_presupposed=True, confidence=0.8, follows=pattern(r"(?:[,.!;)]|[ \t]*$| (?:y|es|tiene|vive|está)\b)"), begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("RELs NAME y NAME", "relation", "{rel}", _RELATED, pattern(r"\b(?:mis|nuestros|nuestras)(?: (?:dos|tres|cuatro))? (?P<rel>hijos|hijas|niños|perros|gatos|gatas|hermanos|hermanas|peques|amigos)(?:,|:)? "), "capital person", accepts_list=True, is_presupposed=True, confidence=0.8, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL cumple el", "relation", "birthday", ("cumple", "cumplirá", "cumpleaños"), pattern(rf"{_WHO}(?:cumple|cumplirá|va a cumplir)(?: (?:los )?\d{{1,3}})?(?: años)? (?=el \d)"), "birthday", subject="{who}", can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("REL no come", "relation", "diet", ("no come", "no puede", "no toma", "no bebe"), pattern(rf"{_DISTANT}{_WHO}no (?:come|puede comer|toma|bebe|tolera)(?: nada de)? {_FOODS}"), value="sin {value}", subject="{who}", can_follow_words=True, unless=_AWHILE, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL es alérgico", "relation", "allergy", ("alérgic", "alergia"), pattern(rf"{_DISTANT}{_WHO}(?:es|tiene) (?:muy )?(?:al[eé]rgic[oa]|alergia) (?:al|a) "), "articled", accepts_list=True, subject="{who}", can_follow_words=True, confidence=0.9, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL es DIETA", "relation", "diet", ("vega", "vege", "celí", "celi"), pattern(rf"{_DISTANT}{_WHO}es (?P<value>vegan[oa]|vegetarian[oa]|celíac[oa]|celiac[oa])\b"), subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("casado con", "relation", "partner", ("casad",), pattern(r"\b(?:estoy|soy) (?:felizmente )?casad[oa] con "), "capital person"),
    FactRule("REL vive en", "relation", "home", ("vive", "viven"), pattern(rf"{_WHO}viven?{_ADV} en "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL trabaja en", "relation", "employer", ("trabaja",), pattern(rf"{_WHO}trabaja{_ADV} (?:en|para) (?:el |la )?"), "org", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL tiene años", "relation", "age", ("años", "añitos"), pattern(rf"{_WHO}tiene(?: ya)? "), "number", subject="{who}", can_follow_words=True, follows=pattern(r" (?:años|añitos)\b"), required_prefixes=AGED, begins=_RELATION_OPENING),
    FactRule("cumpleaños de REL", "relation", "birthday", ("cumpleaños de mi",), pattern(rf"\bel cumpleaños de mi {_REL} es "), "birthday", subject="{who}", can_follow_words=True),

    FactRule("me gusta", "preference", "likes", ("gusta", "encanta", "fascina", "adoro"), pattern(r"\b(?:(?:a mí )?(?:me|nos) (?:gustan?|encantan?|fascinan?)(?: mucho| muchísimo)?|adoro) "), "articled", accepts_list=True, unless=pattern(r" (?:de esto|de este|que)\b")),
    FactRule("no me gusta", "preference", "dislikes", ("gusta", "odio", "detesto", "no soporto"), pattern(r"\b(?:no me gustan?(?: nada| mucho)?|odio|detesto|no soporto) "), "articled", accepts_list=True, can_follow_words=True),
    FactRule("favorito ya no", "preference", "favourite {what}", ("favorit", "preferid"), pattern(r"\bmi (?P<what>[\wáéíóúñ]+) (?:favorit[oa]|preferid[oa]) (?:ya )?no es "), "articled", "ended", can_follow_words=True, begins=_SELF_OPENING, continuations=(FactRule("sino", "preference", "favourite {what}", (), pattern(_SINO), "articled"),)),
    FactRule("favorito", "preference", "favourite {what}", ("favorit", "preferid"), pattern(r"\bmi (?P<what>[\wáéíóúñ]+) (?:favorit[oa]|preferid[oa]) es "), "articled", can_follow_words=True, confidence=0.9, begins=_SELF_OPENING),
    FactRule("prefiero a", "preference", "prefers", ("prefiero",), pattern(r"\bprefiero (?:el |la |los |las )?(?P<value>[\wáéíóúñ-]+) (?:al|a|antes que|en vez de|en lugar de) (?:el |la |los |las )?(?P<than>(?!la$)[\wáéíóúñ-]+)"), confidence=0.8),
    FactRule("prefiero", "preference", "prefers", ("prefiero",), pattern(r"\bprefiero (?![^.\n]{0,40}\b(?:al?|antes|en vez|en lugar)\b)(?![\wáéíóú]+(?:ar|er|ir)\b)"), "articled", confidence=0.7),

    FactRule("EVENTO es el", "date", "{event}", _DATED, pattern(rf"\b(?:mi|nuestra|nuestro|la|el) (?P<event>{_EVENT})(?: (?:del|de la|de mi|de los|de las|para el|para la|de) (?P<of>[\wáéíóúñ-]+(?: (?!es\b|será\b)[\wáéíóúñ-]+)?)| a (?P<to>[\wáéíóúñ]+))? (?:es|será|cae)(?: ahora)?(?: (?=el|mañana|pasado|hoy|este|\d))(?:a )?"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("tengo EVENTO", "date", "{event}", _DATED, pattern(rf"\b(?:tengo|tenemos) (?:un |una |el |la |mi )?(?P<event>{_EVENT}) (?=el |mañana|pasado)"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("EVENTO sale el", "date", "{event}", _DATED, pattern(rf"\b(?:mi|nuestro|nuestra) (?P<event>{_EVENT})(?: a (?P<to>[\wáéíóúñ-]+)| (?:de|con|para|en) [\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?)? (?:sale|empieza|comienza|es|será|va a ser) {_SOON}"), "day", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("el plazo termina", "date", "deadline", ("plazo", "entrega", "convocatoria"), pattern(rf"\b(?:el|la|mi) (?:plazo|convocatoria|fecha de entrega)(?: (?:para|de|del|de la|para la|para el|de los|de las) (?:la |el |los |las |mi )?(?P<of>[\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?))? (?:termina|acaba|vence|cierra|expira|se acaba) {_SOON}"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("doy EVENTO el", "date", "{event}", (*_DATED, "charla", "clase", "taller"), pattern(rf"\b(?:doy|tengo|hago|presento|celebro|tenemos|damos|celebramos|hacemos) (?:un |una |el |la |mi |nuestra |nuestro )(?P<event>{_EVENT}|charla|ponencia|taller)(?: (?:en|con|de|del|sobre|para) [\wáéíóúñ-]+(?: [\wáéíóúñ-]+){{0,3}}?){{0,2}} {_SOON}"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("vuelo a", "date", "{event}", ("vuelo", "volamos", "viajo", "viajamos", "mudo", "mudamos"), pattern(rf"\b(?:me |nos )?(?P<event>vuelo|volamos|viajo|viajamos|mudo|mudamos)(?: (?:a|para) (?P<to>[\wáéíóúñ-]+(?: (?!el\b|para\b|con\b|mañana\b|pasado\b)[\wáéíóúñ-]+)?))?(?: con [\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?)? {_SOON}"), "day", required_prefixes=DATED, can_follow_words=True),
    FactRule("el DÍA hago", "date", "{event}", ("vuelo", "volamos", "viajo", "viajamos", "mudo", "mudamos", "caso", "casamos"), pattern(rf"(?:^|(?<=[\n.!,]))[ \t]*(?:y )?(?=el (?:\d|{'|'.join(_WEEKDAYS)}))(?=[^\n,;]{{4,30}}? (?:me |nos )?(?P<event>vuelo|volamos|viajo|viajamos|mudo|mudamos|caso|casamos)\b)"), "day", required_prefixes=DATED, begins=_CLAUSE_OPENING),
    FactRule("caduca", "date", "expiry", ("caduca", "vence"), pattern(rf"\b(?:mi|nuestro|nuestra) (?P<of>[\wáéíóúñ-]+(?: [\wáéíóúñ-]+)?) (?:caduca|vence|expira) {_SOON}"), "day", subject="{of}", can_follow_words=True, required_prefixes=DATED, begins=_SELF_OPENING),
    FactRule("quiere para el", "date", "deadline", ("para", "antes"), pattern(rf"\b(?:el|la|los|las|mi|mis) [\wáéíóúñ-]+ (?:quieren?|necesitan?|piden?|esperan?) (?:el|la|los|las|mi|mis) (?P<of>[\wáéíóúñ-]+) (?:para|antes del) {_SOON}"), "day", subject="{of}", can_follow_words=True, confidence=0.8, required_prefixes=DATED),
    FactRule("hay que entregar para", "date", "deadline", ("para", "antes"), pattern(rf"\b(?:tengo|tenemos|hay) que (?:entregar|enviar|mandar|presentar|terminar|pagar) (?:el|la|los|las|mi|mis) (?P<of>[\wáéíóúñ-]+)(?: [\wáéíóúñ-]+)? (?:para|antes del) {_SOON}"), "day", subject="{of}", can_follow_words=True, required_prefixes=DATED),
    FactRule("nos casamos", "date", "wedding", ("casamos", "me caso"), pattern(r"\b(?:nos casamos|me caso) (?=el |en |mañana)"), "day", can_follow_words=True, required_prefixes=DATED),
    FactRule("hay que entregar", "date", "deadline", ("entregar", "entrega"), pattern(r"\btengo que entregar (?:el|la|mi) (?P<of>[\wáéíóúñ-]+) (?:antes del|para) (?:el )?"), "day", subject="{of}", can_follow_words=True, required_prefixes=DATED),

    FactRule("uso", "tool", "uses", ("uso ", "usamos", "utilizo", "utilizamos", "programo", "trabajo con", "estoy usando"), pattern(rf"\b(?:yo )?(?:uso|usamos|utilizo|utilizamos|programo en|trabajo con|trabajamos con|estoy usando|estamos usando){_ADV} "), "tool", accepts_list=True),
    FactRule("cambié de a", "tool", "uses", ("cambié", "cambiamos", "migramos", "pasamos", "pasé", "migré"), pattern(r"\b(?:cambié|cambiamos|migramos|migré|pasamos|pasé) de "), "tool", "ended", can_follow_words=True, continuations=(FactRule("a", "tool", "uses", (), pattern(r" a "), "tool"),)),
    FactRule("actualicé a", "tool", "uses", ("actualic", "migramos a", "migré a"), pattern(r"\b(?:actualicé|actualizamos|migramos|migré) a "), "tool", can_follow_words=True),
    FactRule("ya no uso", "tool", "uses", ("ya no us", "dejé de usar", "dejamos de usar"), pattern(r"\b(?:ya no (?:uso|usamos|utilizo)|dejé de usar|dejamos de usar) "), "tool", "ended", can_follow_words=True),
    FactRule("mi proyecto", "project", "project", ("proyecto",), pattern(r"\bmi (?:nuevo )?proyecto (?:se llama|es) (?:un |una )?"), "thing", can_follow_words=True, begins=_SELF_OPENING),
    FactRule("trabajando en", "project", "project", ("trabajando en", "desarrollando", "construyendo"), pattern(r"\bestoy (?:trabajando en|desarrollando|construyendo|creando|escribiendo) (?:un |una |mi )"), "thing", confidence=0.7),

    FactRule("a partir de ahora", "instruction", "instruction", ("a partir de ahora", "de ahora en adelante", "en adelante", "desde ahora"), pattern(rf"\b(?:a partir de ahora|de ahora en adelante|en adelante|desde ahora),? (?:por favor,? )?(?=(?:siempre |nunca |no )?(?:{_ORDER}|{_NEG_ORDER})\b)"), "rest", can_follow_words=True, confidence=0.95),
    FactRule("siempre", "instruction", "instruction", ("siempre",), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=(?:siempre )?{_ORDER}\b[^\n]{{0,60}}(?:\bsiempre\b|(?<=siempre)[^\n]*))"), "rest", confidence=0.9, begins=_CLAUSE_OPENING),
    FactRule("siempre ORDEN", "instruction", "instruction", ("siempre",), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=siempre {_ORDER}\b)"), "rest", confidence=0.9, begins=_CLAUSE_OPENING),
    FactRule("nunca", "instruction", "instruction", ("nunca", "jamás", "emojis"), pattern(rf"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:por favor,? )?(?=(?:nunca {_NEG_ORDER}\b|no {_NEG_ORDER} (?:nunca|jamás|emojis)\b))"), "rest", confidence=0.9, begins=_CLAUSE_OPENING),
    FactRule("sin ESTILO", "instruction", "instruction", ("sin ", "nada de", "emojis"), pattern(rf"(?:^|(?<=[\n.!:;,]))[ \t]*(?:y |por favor,? )?(?=(?:(?:sin|nada de) {_STYLE}(?: ni \w+)?,? por favor|no (?:uses|pongas) {_STYLE}(?: ni \w+)?(?:,? (?:por favor|gracias|nunca))?)[ \t]*(?:$|[.!\n;]))"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("respuestas cortas", "instruction", "instruction", ("respuestas",), pattern(r"(?:^|(?<=[\n.!:;,¡]))[ \t]*(?:y )?(?:por favor,? )?(?=(?:mantén|haz|dame) (?:tus |las )?respuestas (?:más )?(?:cortas|breves|concisas|sencillas))"), "rest", confidence=0.8, begins=_CLAUSE_OPENING),
    FactRule("prefiero que no", "instruction", "instruction", ("prefiero que", "preferiría que", "gustaría que"), pattern(r"(?:^|(?<=[\n.!:;,]))[ \t]*(?:y |pero )?(?=(?:prefiero|preferiría|me gustaría) que (?:no |siempre |nunca )?(?:me )?(?:uses|usaras|respondas|respondieras|contestes|escribas|pongas|incluyas|hables|hablaras|trates|tutees|des|dieras)\b)"), "rest", confidence=0.85, unless=pattern(r"[^\n]*\b(?:aquí|esta vez|en este|en esta|hoy|ahora)\b"), begins=_CLAUSE_OPENING),
    FactRule("quiero que siempre", "instruction", "instruction", ("siempre", "nunca"), pattern(r"\b(?:quiero|me gustaría|prefiero) que (?=(?:siempre|nunca|me respondas siempre|respondas siempre)\b)"), "rest", can_follow_words=True, confidence=0.9),

    FactRule("REL se mudó de a", "relation", "home", ("mudó", "mudado"), pattern(rf"{_WHO}se (?:mudó|ha mudado)(?: hace poco)? (?:de|desde) "), "place", "ended", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, continuations=(FactRule("se mudó a", "relation", "home", (), pattern(r" a "), "place", subject="{who}"),)),
    FactRule("REL se mudó a", "relation", "home", ("mudó", "mudado"), pattern(rf"{_WHO}se (?:mudó|ha mudado)(?: hace poco| el año pasado)? a "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL estudia", "relation", "studies", ("estudia",), pattern(rf"{_WHO}(?:estudia|está estudiando){_ADV} (?!en |para |de |mucho|con )"), "thing", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("REL nació en", "relation", "birthplace", ("nació",), pattern(rf"{_WHO}nació en "), "place", subject="{who}", can_follow_words=True, begins=_RELATION_OPENING, required_prefixes=_OWNED),
    FactRule("nací en", "profile", "birthplace", ("nací en",), pattern(r"\b(?:yo )?nací en "), "place", can_follow_words=True),
    FactRule("mi número es", "profile", "phone", ("número", "teléfono", "móvil"), pattern(r"\bmi (?:nuevo )?(?:número(?: de (?:teléfono|móvil))?|teléfono|móvil)(?: nuevo)? es(?: ahora)?(?: el)? (?P<value>\+?\(?\d[\d ()/.-]{5,18}\d)(?!\d)"), confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("mi dirección es", "profile", "address", ("dirección",), pattern(r"\b(?:mi|nuestra) (?:nueva )?dirección(?: postal)? es(?: ahora)? "), "address", confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED, begins=_SELF_OPENING),
    FactRule("calzo un", "profile", "shoe size", ("calzo",), pattern(r"\bcalzo (?:un |el |la |talla )?(?P<value>\d{2}(?:[.,]5)?)\b"), confidence=0.95, can_follow_words=True, required_prefixes=NUMBERED),
    FactRule("uso la talla", "profile", "size", ("talla",), pattern(r"\b(?:uso|llevo|tengo)(?: la| una)? talla (?P<value>xxs|xs|s|m|l|xl|xxl|\d{2})\b"), confidence=0.9, can_follow_words=True),
    FactRule("mi talla es", "profile", "size", ("talla",), pattern(r"\bmi talla es(?: la)? (?P<value>xxs|xs|s|m|l|xl|xxl|\d{2})\b"), confidence=0.9, can_follow_words=True, begins=_SELF_OPENING),
    FactRule("tengo N hijos", "relation", "children", ("hijos", "hijas", "niños", "niñas"), pattern(r"\b(?:tengo|tenemos) (?P<value>dos|tres|cuatro|cinco|seis|[2-6]) (?:hij[oa]s|niñ[oa]s|peques)\b(?=[ \t]*(?:$|[.,;!)]|y\b|pero\b|pequeñ|de \d|mayores))"), confidence=0.85),
    FactRule("madre de N", "relation", "children", ("madre de", "padre de"), pattern(r"\bsoy (?:madre|padre) de (?P<value>un|una|dos|tres|cuatro|cinco|[1-6])(?: (?:hij[oa]s?|niñ[oa]s?))?\b"), confidence=0.9, can_follow_words=True),
    FactRule("casado", "relation", "status", ("casad", "divorciad", "solter", "viud"), pattern(r"\b(?:estoy|soy) (?:felizmente )?(?P<value>casad[oa]|divorciad[oa]|solter[oa]|viud[oa])\b(?! con\b)"), confidence=0.85),
    FactRule("tardo en llegar", "profile", "commute", ("al trabajo", "a la oficina"), pattern(r"\btardo (?:unos |como |más o menos )?(?P<value>\d{1,3} minutos|media hora|una hora(?: y media)?|hora y media)(?: en [\wáéíóúñ]+)? en (?:llegar|ir) (?:al trabajo|a la oficina)\b"), confidence=0.85, can_follow_words=True),
    FactRule("voy al trabajo en", "profile", "commute", ("al trabajo", "a la oficina"), pattern(r"\bvoy (?:al trabajo|a la oficina) (?P<value>en (?:bici(?:cleta)?|coche|carro|tren|metro|autobús|bus|moto|tranvía)|a pie|andando|caminando)\b(?! (?:hoy|esta semana))"), confidence=0.85, can_follow_words=True),
    FactRule("en MES nos mudamos a", "date", "{event}", ("mudamos", "mudo"), pattern(r"(?:^|(?<=[\n.!,]))[ \t]*(?:y )?(?=en [a-z]+ (?:me|nos) (?P<event>mudo|mudamos) a (?P<to>[\wáéíóúñ-]+))"), "day", required_prefixes=DATED, begins=_CLAUSE_OPENING),
    FactRule("planeamos", "project", "plans", ("planeando", "planeamos", "planeo", "planificando", "preparando"), pattern(r"\b(?:estoy|estamos) (?:planeando|planificando|preparando) (?=(?:un |una |mi |nuestr|[\wáéíóúñ]+r\b))|\b(?:planeo|planeamos) (?=(?:un |una |mi |nuestr|[\wáéíóúñ]+r\b))"), "clause", confidence=0.75, can_follow_words=True),
    FactRule("tengo pensado", "project", "plans", ("pensado", "previsto", "intención"), pattern(r"\b(?:tengo|tenemos) (?:pensado|previsto|la intención de|planeado) (?=[\wáéíóúñ]+r(?:me|nos|lo)?\b)"), "clause", confidence=0.8, can_follow_words=True),
    FactRule("quiero hacer", "project", "wants", ("quiero", "queremos", "gustaría", "sueño"), pattern(r"\b(?:algún día )?(?:quiero|queremos|(?:me|nos) gustaría|siempre he querido|mi sueño es) (?=(?:correr un|viajar a|visitar|mudar(?:me|nos)|aprender (?:a )?(?!más|sobre|cómo)|comprar (?:un|una)|tener (?:hijos|un perro|un gato)|abrir (?:un|una)|montar (?:un|una)|estudiar|casar(?:me|nos)|escribir un libro|adoptar|jubilarme)\b)"), "clause", confidence=0.7),
)

_NO_THING = r"(?!(?:es|está|están|fue|era|se|ha|han|no|nunca|si|y|o|pero|que|casi|quizás?|podría|puede|debería|tiene|lo|la|le)\b)"
_WORD = rf"{_NO_THING}[\wáéíóúüñ'&-]+"
_THING = rf"(?P<value>{_WORD}(?: (?:la (?=\w)|el (?=\w))?{_WORD}){{0,5}}?)"
_THIS = r"\b(?:mi|mis|nuestro|nuestra|el|la|los|las|este|esta)"
_AT_LAST = r"(?: (?:al final|finalmente|por desgracia|definitivamente|ya|hoy|ayer))?"
_NOT_DOING = r"(?:voy a|vamos a|iré a|iremos a|pienso|pensamos|quiero|queremos|me voy a|nos vamos a)"
_DOING = r"(?:me mudo|nos mudamos|corro|corremos|vuelo|volamos|viajo|viajamos|voy|vamos|iré|iremos|correré|correremos|viajaré|viajaremos|me mudaré|nos mudaremos|me caso|nos casamos|hago|hacemos|haré|haremos|compro|compramos|estudio|aprendo|juego al?|toco|practico)"
_STILL = r"(?![^\n.!?,;]*\b(?:sin|hasta|si|cuando|antes|sol[oa]|hoy|mañana|solo|sólo|con|tan|rápido)\b)"
_GOES_ON = r"(?!(?:perder(?:me|nos)?|olvidar|cancelar|faltar|dejar|posponer|aplazar|anular|saltar)\w*\b)"
_HEAD = rf"(?:{_EVENT[3:-1]}|clase|partido|curso|cena|comida|visita|ensayo|vacaciones)"
_WHAT = rf"(?P<event>{_HEAD})(?: (?:a (?P<to>[\wáéíóúñ-]+)|(?:del|de la|de mi|de los|de las|de|con el|con la|con) (?P<of>(?!(?:al?|para|el)\b)[\wáéíóúñ-]+)))?"
_DEL = r"(?: (?:del|de el|desde el) (?:(?!al?\b|para\b)[\wáéíóúñ]+ ){1,5}?)?"
_MOVED = r"(?:cambiad[oa]|movid[oa]|pasad[oa]|aplazad[oa]|pospuest[oa]|adelantad[oa]|retrasad[oa]|trasladad[oa]|reprogramad[oa])"
_MOVED_THEN = r"(?:cambió|movió|pasó|aplazó|pospuso|adelantó|retrasó|cambiaron|movieron|pasaron|aplazaron|adelantaron|retrasaron|trasladó|reprogramó|cambié|moví|pasé|aplacé|pospuse|adelanté|retrasé|cambiamos|movimos|aplazamos|pospusimos)"
_MOVED_NEEDS = ("cambi", "movid", "movi", "moví", "pasad", "pasó", "pasa", "pasé", "apla", "pospu", "adelant", "retras", "traslad", "reprogram")
_TO = rf"{_DEL} ?(?:al?|para|hasta) (?=(?:el |la )?(?:próximo |este |día )?(?:\d|{'|'.join((*_WEEKDAYS, *full_names(languages.SPANISH.temporal.months)))}|mañana|pasado mañana|próxim|semana))"

_CHANGES = (
    FactRule("COSA cancelada", "project", CHANGE, ("cancel", "suspend", "anul"), pattern(rf"{_THIS} {_THING} (?:se ha|se han|ha sido|han sido|fue|está|están|queda|ha quedado|se){_AT_LAST} (?:cancelad[oa]s?|canceló|cancelaron|suspendid[oa]s?|suspendió|anulad[oa]s?|anuló)\b"), confidence=0.9, can_follow_words=True),
    FactRule("se ha cancelado COSA", "project", CHANGE, ("cancel", "suspend", "anul"), pattern(r"\b(?:se ha|se|nos han|me han) (?:cancelado|canceló|suspendido|suspendió|anulado|anuló) (?:el|la|mi|nuestro|nuestra|los|las) (?=\w)"), "matter", confidence=0.9, can_follow_words=True),
    FactRule("cancelé COSA", "project", CHANGE, ("cancel", "anul", "renunci", "descart", "abandon", "dejad", "dejé", "vend"), pattern(rf"\b(?:he|hemos|tuve que|tuvimos que|he tenido que|hemos tenido que)?{_AT_LAST} ?(?:cancelado|cancelé|cancelamos|cancelar|anulado|anulé|anulamos|anular|descartado|descarté|descartamos|renunciado a|renuncié a|abandonado|abandoné|vendido|vendí|vendimos) (?:el|la|mi|mis|nuestro|nuestra|los|las) (?=\w)"), "matter", confidence=0.85),
    FactRule("al final no", "project", CHANGE, ("al final no", "finalmente no", "ya no"), pattern(rf"\b(?:al final|finalmente|ya) no (?:{_NOT_DOING} {_GOES_ON}|{_DOING} ){_STILL}(?=\w)"), "matter", confidence=0.9, can_follow_words=True),
    FactRule("ya no nos casamos", "project", CHANGE, ("casamos", "me caso"), pattern(r"\b(?:(?:ya|al final|finalmente) no (?:nos casamos|me caso)|no (?:nos casamos|me caso) al final)\b"), value="wedding", confidence=0.9, can_follow_words=True),
    FactRule("no ... al final", "project", CHANGE, ("al final",), pattern(rf"\bno (?:{_NOT_DOING} {_GOES_ON}|{_DOING} )(?=[^\n.!?,;]{{3,60}} al final\b)(?=\w)"), "matter", confidence=0.9, can_follow_words=True),
    FactRule("he decidido no", "project", CHANGE, ("decidido no", "decidí no", "decidimos no"), pattern(rf"\b(?:he|hemos)?{_AT_LAST} ?(?:decidido|decidí|decidimos) no {_GOES_ON}(?=\w)"), "matter", confidence=0.85, can_follow_words=True),
    FactRule("no COSA, me quedo", "project", CHANGE, ("quedo", "quedamos"), pattern(rf"(?:^|(?<=[\n.!]))[ \t]*(?:al final |mejor )?no (?:a |al |en )?(?P<value>{_WORD}(?: {_WORD}){{0,2}}?)[,;.] (?=(?:me quedo|nos quedamos)\b)"), confidence=0.85),
    FactRule("me quedo al final", "project", CHANGE, ("quedo", "quedamos"), pattern(r"\b(?:al final|finalmente|mejor) (?:me quedo|nos quedamos)(?: (?:aquí|en [\wáéíóúñ-]+))?(?= *(?:$|[.,;!\n]|y\b))"), value="move", confidence=0.85, can_follow_words=True),
    FactRule("EVENTO se ha cambiado a", "date", "{event}", _MOVED_NEEDS, pattern(rf"{_THIS} {_WHAT} (?:(?:se ha|ha sido|fue|queda|está|se me ha|me la han|me lo han|la han|lo han|nos la han){_AT_LAST} {_MOVED}|se {_MOVED_THEN}|ha (?:cambiado|pasado)|pasa){_TO}"), "day", "corrects", 0.9, can_follow_words=True, required_prefixes=DATED),
    FactRule("QUIEN ha cambiado EVENTO a", "date", "{event}", _MOVED_NEEDS, pattern(rf"(?:\b(?:el|la|mi) (?P<by>[\wáéíóúñ-]+) |\b)(?:me |nos )?(?:(?:ha|han|he|hemos|tuve que|tuvimos que) (?:{_MOVED}|cambiar|mover|aplazar|posponer)|{_MOVED_THEN}) (?:el|la|mi|nuestro|nuestra) {_WHAT}{_TO}"), "day", "corrects", 0.85, can_follow_words=True, required_prefixes=DATED),
    FactRule("EVENTO aplazado", "date", CHANGE, ("aplaz", "pospu"), pattern(rf"{_THIS} {_THING} (?:se ha|ha sido|fue|está|queda|se){_AT_LAST} (?:aplazad[oa]|pospuest[oa]|aplazó|pospuso)(?: (?:sin fecha|indefinidamente|hasta nuevo aviso))?(?=[ \t]*(?:$|[.,;!\n]|porque\b))"), confidence=0.85, can_follow_words=True),
)

SPANISH = FactGrammar(
    language=languages.SPANISH,
    rules=(*_RULES, *(replace(rule, mode="ended") if rule.attribute == CHANGE else rule for rule in _CHANGES)),
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
        "no el la los las un una muy de del que con por para en y o pero yo tú él ella mi tu su"
        " español española feliz triste cansado cansada nuevo nueva listo lista así más vive trabaja tiene es está dice"
        " dijo mayor menor se me te le nos era fue hoy mañana ayer luego después cuando si".split()
    ) | frozenset(_WEEKDAYS),
    heads=pattern(longest_first(languages.SPANISH.occupations)),
    clause_end=pattern(r"(?:[;!?()\n…–—\x00]|[,.:](?!\d))| - |(?:^|\s)(?:y(?= (?:yo|me|no|así|luego|después|eso|mi)\b)|pero|porque|pues|ya que|aunque|cuando|si|así que|entonces|o)\b"),
    vague_times=pattern(r"\s+(?:(?:el|la) (?:próxim[oa] \w+|año que viene|mes que viene|semana que viene)|est[ea] (?:año|verano|mes|semana|invierno|otoño|primavera)|pronto|algún día|hoy|mañana|ahora|también)$"),
    events=_EVENTS,
)
