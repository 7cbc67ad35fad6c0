"""Spanish."""

from __future__ import annotations

from appliance.languages.language import (
    Language,
    ProcedureCues,
    SummaryCues,
    TemporalWords,
    by_word,
    calendar_names,
    word_set,
)

_TEMPORAL = TemporalWords(
    months=(
        "enero", "febrero", "marzo", "abril", "mayo", "junio",
        "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
    ),
    weekdays=("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    seasons=("primavera", "verano", "otoño", "invierno"),
    units={
        "day": "día|días", "week": "semana|semanas", "month": "mes|meses", "year": "año|años",
        "weekend": "fin de semana", "night": "noche",
    },
    numbers=("un|una", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez"),
    days={-2: "anteayer", -1: "ayer", 0: "hoy", 1: "mañana", 2: "pasado mañana"},
    before_last_after="antepasad[oa]",
    last="últim[oa]", last_after="pasad[oa]", this="est[ea]", coming="próxim[oa]", next_after="que viene",
    ago_before="hace", ahead="en", on=("el",), of="de|del", ordinal="º", before="antes de|antes del",
    until="hasta", since="desde|a partir de|a partir del", after="después de|después del",
    early="a principios de", middle="a mediados de", late="a finales de",
    range_start="desde|entre|del|de", range_end="hasta|y|al|a", in_month="en|entre|y", day_leads="el|para|día",
    year_leads="en|desde|hasta", new_year="año nuevo",
    quarters=(
        "t1|primer trimestre|1er trimestre", "t2|segundo trimestre|2º trimestre", "t3|tercer trimestre|3er trimestre",
        "t4|cuarto trimestre|4º trimestre|último trimestre",
    ),
    holidays={
        (12, 24): "nochebuena", (12, 25): "día de navidad", (12, 31): "nochevieja", (1, 1): "día de año nuevo",
    },
    christmas="navidades|navidad",
    week_of="semana del", at="a las|a la|sobre las", o_clock="horas|h", am="a\\.\\s?m\\.|de la mañana",
    pm="p\\.\\s?m\\.|de la tarde|de la noche",
)  # fmt: skip

_SUMMARY = SummaryCues(
    decided=(
        r"(?:hemos|he) (?:ya |finalmente |por fin )?(?:decidido|acordado|quedado en|elegido|optado por)",
        r"(?:decidimos|acordamos|quedamos en|elegimos|optamos por|decidí|elegí|opté por)",
        r"(?:está|queda|quedó) (?:ya )?(?:decidido|acordado)|se (?:decidió|acordó)",
        r"(?:vamos a|voy a) (?:usar|quedarnos con|quedarme con|ir con|optar por)|nos quedamos con|me quedo con",
        r"(?:la|nuestra|mi) decisión (?:final )?(?:es|fue)(?! (?:aún|todavía|no|difícil))|decisión(?=:)|el plan es",
    ),
    promised=(
        r"(?:yo )?(?:(?:te|le|les|lo|la|os|me|se) )*(?:enviaré|mandaré|haré|llamaré|escribiré|revisaré|prepararé"
        r"|traeré|compraré|buscaré|preguntaré|avisaré|terminaré|entregaré|reservaré|arreglaré|confirmaré|encargaré"
        r"|pasaré|ocuparé|llevaré|enviaremos|haremos|llamaremos|revisaremos|prepararemos|terminaremos"
        r"|entregaremos)(?!\w)",
        r"(?:voy a|vamos a) (?!usar|quedar|ir con|optar|ver|ser|estar)(?=\w+(?:ar|er|ir)(?:te|le|lo|la"
        r"|les|los|las|me)?\b)",
        r"(?:te |le |les )?(?:prometo|prometemos)|me (?:comprometo|encargo|ocupo)|nos encargamos",
    ),
    idle=(r"(?:extrañar\w*|echar de menos|morir\w*|siempre|nunca|llorar|decir la verdad|tener que)\b",),
    open=(
        r"por hacer(?=:)|pendientes?(?= ?:)|(?:sigue|siguen|queda|quedan|está|están) pendientes?",
        r"(?:todavía|aún) (?:tengo|tenemos|hay) que|(?:queda|quedan|falta|faltan) por|falta (?:decidir"
        r"|definir|confirmar)",
        r"(?:todavía|aún) no (?:\w+ ){0,2}(?:decidido|está|resuelto|claro|hemos|he)",
        r"(?:hay|tengo|tenemos) que (?:decidir|averiguar|aclarar|definir)|por (?:decidir|definir|confirmar)",
        r"(?:estoy|estamos|sigo) esperando|no está claro|sin (?:resolver|decidir)",
    ),
    wonders=(
        r"no (?:sé|sabemos|estoy segur[oa]|estamos segur[oa]s) (?:de )?(?:si|cómo|qué|cuándo|dónde|cuál|por qué)",
        r"ni idea de|me pregunto|nos preguntamos",
    ),
    problem=(
        r"no (?:me |nos |le )?(?:funciona|arranca|carga|abre|compila|conecta|responde|inicia)",
        r"(?:un|el|este|los|varios) (?:error|errores|fallo|fallos|problema|problemas)|falla",
        r"se (?:cae|cuelga|bloquea|rompe|rompió|cayó|colgó)|(?:está|quedó) (?:roto|rota|atascad[oa])",
    ),
    solved=(
        r"(?:ya|ahora|por fin)(?: sí)? (?:me |nos )?(?:funciona|carga|arranca|compila)(?: bien)?",
        r"(?:eso|esto|así)(?: me| nos| ya)? (?:funcionó|lo (?:arregló|solucionó|resolvió)|solucionó|resolvió|arregló)",
        r"(?:ya )?(?:está|quedó|queda) (?:ya )?(?:arreglad[oa]|solucionad[oa]|resuelt[oa])",
        r"(?:problema|error) (?:ya )?(?:arreglado|solucionado|resuelto)|todas las pruebas (?:ya )?pasan",
        r"(?:lo|la) (?:arreglé|solucioné|resolví|he arreglado|he solucionado)",
    ),
    concluded=(
        r"en (?:resumen|conclusión|definitiva)|para (?:resumir|concluir)|resumiendo|conclusión(?=:)|resultado(?=:)",
        r"(?:causa|resultado|solución|motivo) (?:es|era|fue)|resultó que|resulta que|por (?:lo )?tanto",
        r"(?:te |le |les )?(?:recomiendo|sugiero|aconsejo)|mi (?:recomendación|consejo) es",
    ),
    unknown=(
        r"no (?:lo )?sé|ni idea|no estoy segur[oa]|difícil de decir",
        r"(?:lo |te lo )(?:miro|miraré|pregunto|preguntaré|averiguo|averiguaré|reviso|revisaré|consulto|consultaré)",
        r"tengo que (?:preguntar|mirar|ver|pensar)",
    ),
    denied=(r"no|nunca|jamás|nadie|nada|ningun\w*|ni|sin|tampoco|casi|apenas",),
    supposed=(
        r"si|quizás?|tal vez|ojalá|supongamos|imagina|en caso|a lo mejor|habría\w*|hubiera\w*|hubiese\w*|podría\w*"
        r"|por ejemplo|espero que",
    ),
    offers=(
        r"quieres que|te gustaría|quiere que|le gustaría|necesitas|hay algo más|algo más|en qué (?:puedo|más)"
        r"|tienes (?:más|alguna)|te (?:parece|sirve|ayuda)|cómo puedo",
    ),
    greets=(
        r"hola|buen[oa]s(?: (?:días|tardes|noches))?|gracias|muchas gracias|adiós|hasta (?:luego|pronto|mañana)"
        r"|de nada|claro|vale|ok|okay|genial|perfecto|sí|no|exacto|por supuesto|qué (?:bien|bueno|tal|chulo|guay)"
        r"|cómo estás|saludos|un abrazo|suerte|felicidades|me alegro|buena pregunta|nos vemos|cuídate|excelente"
        r"|estupendo|entiendo|de acuerdo",
    ),
    fills=(
        r"avísame|avíseme|no dudes en|no dude en|espero que (?:esto |te |le )*(?:ayude|sirva)|dime si|déjame saber"
        r"|si (?:tienes|necesitas|tiene|necesita) (?:más |alguna |otra )|hazme saber|un (?:cordial )?saludo"
        r"|atentamente|enviado desde mi|aquí (?:tienes|está|hay)\b[^.]*:$",
    ),
)

_PROCEDURES = ProcedureCues(
    asks=(
        r"c[óo]mo (?:puedo|podemos|podr[íi]a|debo|debemos|deber[íi]a|tengo que|hay que|se puede|hago|hacemos)\b",
        r"c[óo]mo (?!(?:estoy|tengo|veo|siento|quiero|creo|digo|llamo|pienso|vivo|llego|soy|voy|como)\b)\w{3,20}o\b"
        r"(?= (?:el|la|los|las|un|una|mi|mis|esto|eso|este|esta|en|de|a|al|con|que|\w+))",
        r"c[óo]mo se (?!(?:llama|dice|siente|escribe|encuentra|ve|va|llaman|sienten|conocieron)\b)\w{3,20}[ae]n?\b",
        r"c[óo]mo (?:arreglamos|arregl[ée]|solucionamos|solucion[ée]|resolvimos|resolv[íi]|instalamos|instal[ée]"
        r"|configuramos|configur[ée]|conseguimos|conectamos)\b",
        r"(?:cu[áa]l (?:es|era) el comando|qu[ée] comando|qu[ée] pasos|cu[áa]les son los pasos)",
        r"qu[ée] (?:tengo|tenemos|hay) que hacer para",
        r"(?:cu[áa]l es|hay) (?:la|alguna|una) (?:mejor )?(?:manera|forma) de",
    ),
    asks_not=(r"c[óo]mo puedo (?:ayudar|agradec)\w*",),
    worked=(
        r"(?:eso|esto|ya|ahora|todo|as[íi]|lo|el (?:comando|truco|script|servidor)|la (?:soluci[óo]n|impresora))"
        r"(?: (?:s[íi]|me|ya|ha|ahora|por fin|s[íi] que|perfectamente)){0,3}? (?:funcion[óo]|funciona"
        r"|funcionando|funcionado"
        r"|sirvi[óo]|va|arranca|imprime|compila|resolvi[óo]|solucion[óo]|arregl[óo]|resuelto|solucionado)",
        r"^(?:\W*(?:s[íi]|ok|vale|genial|perfecto|gracias|muchas gracias|estupendo|bien|muy bien|excelente|listo"
        r"|por fin)\W+){0,4}(?:(?:ya )?funcion(?:[óo]|a|ando)|solucionado|resuelto|arreglado|listo,? (?:ya )?funciona)",
        r"(?:el )?(?:problema|error) (?:est[áa] |ha |qued[óo] )?(?:resuelto|solucionado|desaparecido|arreglado)",
        r"desapareci[óo] el (?:error|problema)|sin errores ahora|ya no (?:sale|da|aparece) (?:el"
        r"|ning[úu]n) (?:error|aviso)",
    ),
    before=(
        r"s[íi]|ok|vale|genial|perfecto|gracias|muchas|mil|estupendo|bien|muy|excelente|listo|por fin|hecho|lo|hice"
        r"|he hecho|segu[íi]|(?:los|tus) pasos|y|ahora|ya|prob[ée]|eso|esto|todo|as[íi]|hola|por (?:la|tu|su) ayuda",
    ),
    goes_on=(
        r"ahora|ya|perfectamente|perfecto|bien|genial|de maravilla|a la primera|enseguida|otra vez|de nuevo|todo"
        r"|por fin|sin problemas?|(?:muchas |mil )?gracias|muy|y|el (?:error|problema)",
    ),
    perhaps=(
        r"creo|parece|supongo|no(?! sale| da| aparece)|nunca|nada|si|ojal[áa]|espero|quiz[áa]s?|tal vez|a lo mejor"
        r"|deber[íi]a|podr[íi]a|voy a|a ver|ma[ñn]ana|ayer|antes|hasta|cuando|por qu[ée]|qu[ée]|c[óo]mo|d[óo]nde"
        r"|casi|medio|s[óo]lo|pero|excepto|salvo|aunque|dijo|dice|dicen|seg[úu]n|normalmente|a veces|dej[óo] de"
        r"|intentar[ée]|probar[ée]|sin embargo",
    ),
    failed=(
        r"no (?:me |se |ha |lo |le )?(?:funcion\w*|sirv\w*|va\b|arranca\w*|ayud\w*|cambi\w*|hace nada|imprime"
        r"|compila|conecta)",
        r"sigue (?:sin|dando|igual|fallando|saliendo|el)|todav[íi]a no|mismo (?:error|problema)|otro (?:error"
        r"|problema)"
        r"|(?:error|problema) otra vez|fall[óo]|falla|fallando|roto|rompi[óo]|peor|ahora me (?:sale|da|dice)|deshaz",
    ),
    otherwise=(
        r"otra (?:cosa|manera|forma|soluci[óo]n|gu[íi]a)|otro (?:m[ée]todo|programa|modo)|en lugar de|en vez de"
        r"|yo mism[oa]|por mi cuenta|(?:por s[íi]|ella|[ée]l) sol[oa]|al final (?:lo|era|fue|us[ée]|hice|llam[ée])"
        r"|result[óo] (?:que|ser)|olv[íi]dalo|d[ée]jalo|ya (?:estaba|lo hab[íi]a)|lo hizo (?:mi|un|una|el|la)\b"
        r"|(?:compr|ped)[ée] (?:un|una|otr[oa])|(?:colega|hij[oa]|marido|mujer|t[íi][oa]|compa[ñn]er[oa]|amig[oa]"
        r"|herman[oa]|padre|madre|vecin[oa]|t[ée]cnico|soporte) (?:me )?(?:\w+ )?(?:lo )?(?:arregl|solucion|resolv"
        r"|ayud|hizo|vino)\w*|sin (?:tu|hacer|seguir|usar)",
    ),
    imperatives=(
        r"(?:echa|espera|cep[íi]ll[ae]|pon|l[áa]va|ap[áa]ga|vuelve|enci[ée]nde|mant[ée]n|pulsa|ejecuta|usa|baja|sube|d[ée]ja"
        r"|pide|lleva|paga|abre|elige|selecciona|haz|quita|copia|borra|instala|conecta|desconecta|reinicia|comprueba|mira"
        r"|a[ñn]ade|mezcla|escribe|env[íi]a|firma|cierra|corta|gira|aprieta|afloja|busca|entra|descarga|guarda|prueba)"
        r"(?:l[aoe]s?|te|se)?"
    ),
    needs=(r"qu[ée] (?:hago|puedo hacer|hacemos)|ayuda|no (?:me |se )?\w+|error|falla|necesito|tengo que|quiero",),
    results=(
        r"ya va(?= *(?:[,.!]|$))|ya (?:est[áa]|tengo|funciona|imprime)|^\W*(?:hecho|listo|resuelto|arreglado)\b"
        r"|resuelto|solucionado|funcion[óo]|por primera vez|me ha salido|era justo eso",
    ),
    passing=r"semana|mes pasado|un momento|luego volvi[óo]|todav[íi]a|para m[íi]",
    signs=("funcion|sirvi| va|arranca|imprime|compila|resolvi|solucion|arregl|resuelt|desapareci|sin errores|ya no"),
)

_RELATIONS = by_word(
    {
        "wife": "mujer|esposa", "husband": "marido|esposo", "girlfriend": "novia|chica", "boyfriend": "novio|chico",
        "partner": "pareja", "fiancée": "prometida", "fiancé": "prometido", "son": "hijo|niño",
        "daughter": "hija|hijas|niña", "child": "hijos|niños|hijitos|peque|peques", "mother": "madre|mamá",
        "father": "padre|papá", "brother": "hermano|hermanos", "sister": "hermana|hermanas",
        "grandmother": "abuela|yaya", "grandfather": "abuelo", "aunt": "tía", "uncle": "tío",
        "cousin": "primo|prima", "nephew": "sobrino", "niece": "sobrina",
        "friend": "amigo|amiga|mejor amigo|mejor amiga|amigos", "boss": "jefe|jefa",
        "colleague": "compañero|compañera", "roommate": "compañero de piso|compañera de piso",
        "neighbour": "vecino|vecina", "dog": "perro|perra|perrita|perrito|cachorro|perros",
        "cat": "gato|gata|gatito|gatos|gatas", "pet": "mascota", "horse": "caballo", "rabbit": "conejo|conejos",
        "snake": "serpiente", "otter": "nutria", "lizard": "lagarto", "gecko": "geco", "iguana": "iguana",
        "ferret": "hurón", "hedgehog": "erizo", "goat": "cabra", "donkey": "burro", "canary": "canario",
        "budgie": "periquito", "parrot": "loro", "hamster": "hámster", "tortoise": "tortuga", "pony": "poni",
        "axolotl": "ajolote", "alpaca": "alpaca", "tarantula": "tarántula",
        "grandson": "nieto", "granddaughter": "nieta", "teacher": "profesor|profesora", "mother-in-law": "suegra",
        "father-in-law": "suegro", "brother-in-law": "cuñado", "sister-in-law": "cuñada", "doctor": "médico|médica",
        "dentist": "dentista",
    }
)  # fmt: skip

_LANGUAGE_NAMES = by_word(
    {
        "Spanish": "español|castellano", "English": "inglés", "German": "alemán", "French": "francés",
        "Italian": "italiano", "Portuguese": "portugués", "Catalan": "catalán", "Basque": "euskera",
        "Galician": "gallego", "Japanese": "japonés", "Chinese": "chino", "Mandarin": "mandarín",
        "Korean": "coreano", "Russian": "ruso", "Arabic": "árabe", "Dutch": "holandés|neerlandés",
        "Polish": "polaco", "Swedish": "sueco", "Greek": "griego", "Turkish": "turco", "Quechua": "quechua",
        "Guarani": "guaraní", "Latin": "latín", "Danish": "danés", "Norwegian": "noruego",
    }
)  # fmt: skip

_OPPOSITES = (
    "norte|sur|este|oeste", "izquierda|derecha", "izquierdo|derecho", "arriba|abajo", "antes|después",
    "temprano|tarde", "primero|último|siguiente|anterior", "primera|última", "ayer|hoy|mañana",
    "sí|no|nunca|ningún|ninguna|siempre", "con|sin", "más|menos", "alto|bajo", "alta|baja", "viejo|nuevo",
    "vieja|nueva", "caliente|frío|fría", "abierto|cerrado", "abierta|cerrada", "activado|desactivado",
    "aumenta|disminuye", "aceptado|rechazado", "comprado|vendido", "verdadero|falso", "él|ella",
    "hombre|mujer|niño|niña", "madre|padre|hermano|hermana|hijo|hija|marido|esposa",
    "negro|blanco|rojo|verde|azul|amarillo",
)  # fmt: skip

SPANISH = Language(
    code="es",
    name="Spanish",
    temporal=_TEMPORAL,
    summary=_SUMMARY,
    procedures=_PROCEDURES,
    talk_words=word_set(
        "decir dice dijo dije dijimos dijeron dicho hablar hablamos hablaron hablado escribir escribí escribió"
        " escribimos escrito pasar pasó pasado ocurrió mensaje mensajes conversación conversaciones charla"
        " todo algo día"
    ),
    function_words=word_set(
        "he me es a al algo ante como con cuando de del desde donde e el ella en entre era eran esa ese eso esta"
        " este esto está están estaba fue ha han hay la las le les lo los más muy no nos o otra otro para pero por"
        " porque que se ser si sin sobre son su sus también te tiene tu un una uno y ya qué cuándo cuánto cuánta"
        " cuántos cuántas quién quiénes dónde cómo cuál cuáles mi yo él ellos ellas estos ahí mis nosotros nuestra"
        " nuestro unos unas u hasta sí tú os tus estar estoy hemos había tengo tienen voy va vamos puede puedo"
        " quiero solo todo todos toda nada aquí bien así ni bueno"
    ),
    anaphors=word_set(
        "ella esa ese eso esta este esto la las le les lo los él ello ellos ellas esos esas estos estas aquel"
        " aquella aquello allí ahí entonces"
    ),
    determiners=word_set("esa ese esta este la las los esos esas estos estas aquel aquella"),
    articles="una?|el|la|los|las",
    first_person=word_set(
        "he me nos mi yo mis nosotros nuestra nuestro nuestras estoy hemos mí nosotras nuestros quiero somos soy"
        " tenemos tengo vamos voy"
    ),
    time_words=calendar_names(_TEMPORAL)
    | word_set(
        "ayer hoy mañana anteayer anoche pasado pasada próximo próxima semana semanas mes meses año años día días"
        " noche tarde hace desde primavera verano otoño invierno plazo"
    ),
    vague_time_words=word_set("pronto recientemente"),
    conditions=r"(?:cuando|si|siempre que) (?:te |yo )?(?:pregunt|pid|habl)\w*(?: (?:por|sobre|de))?",
    interrogatives="qué|quién(?:es)?|cuándo|dónde|adónde|cuál(?:es)?|por qué|cómo|cuánt[oa]s?",
    asks_how_much=r"cuánt[oa]s?|cada cuánto",
    amounts=r"un[oa]?s?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|par|varios|varias|veces",
    asks_for_change=(
        r"cambi(?:é|ó|aste|ado|amos|ar|os?)|modific\w+|edit(?:é|ó|aste|ado|ar)|arregl\w+|correg\w+|reescrib\w+"
        r"|escrib(?:í|ió|iste)|borr\w+|elimin\w+|añad\w+|renombr\w+"
    ),
    asks_assistant=(
        r"(?:dijiste|recomendaste|sugeriste|explicaste|aconsejaste|diste|propusiste)"
        r"|tus? (?:recomend|suger|consej|explic|propuest|respuest)\w*"
    ),
    discourse_markers="y|e|pero|o|qué tal|qué hay de|qué más|desde cuándo",
    no="sin",
    conjunctions="y|e",
    titles="sr|sra|sres|srta|dr|dra|prof|profa|dña|lic|arq",
    abbreviations=r"ud|uds|pág|p\.\s?ej|ej|núm|aprox|avda|av|tel|apdo|depto",
    relations=_RELATIONS,
    opposites=_OPPOSITES,
    language_names=_LANGUAGE_NAMES,
    occupations=word_set(
        "ingeniero ingeniera profesor profesora maestro maestra médico médica enfermero enfermera abogado abogada"
        " arquitecto arquitecta contable contador contadora programador programadora desarrollador desarrolladora"
        " diseñador diseñadora periodista escritor escritora traductor traductora fotógrafo fotógrafa músico"
        " cocinero cocinera camarero camarera panadero panadera peluquero peluquera mecánico electricista carpintero"
        " fontanero policía bombero soldado piloto conductor conductora taxista agricultor agricultora jardinero"
        " veterinario veterinaria farmacéutico farmacéutica psicólogo psicóloga dentista fisioterapeuta investigador"
        " investigadora científico científica biólogo bióloga químico química físico física matemático matemática"
        " economista consultor consultora analista gerente director directora secretario secretaria vendedor"
        " vendedora comercial actor actriz cantante estudiante jubilado jubilada autónomo funcionario funcionaria"
        " becario becaria administrativo administrativa técnico técnica ilustrador ilustradora artista guionista"
        " editor editora bibliotecario bibliotecaria historiador historiadora auditor auditora juez jueza notario"
        " matrona chef barista repartidor repartidora entrenador entrenadora azafata emprendedor emprendedora"
    ),
)
