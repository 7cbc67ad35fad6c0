"""Spanish."""

from __future__ import annotations

from appliance.memory.summarise.languages.table import Language

SPANISH = Language(
    name="Spanish",
    nouns=False,
    small=frozenset(
        "el la los las lo un una unos unas y o u pero que de del al a en con sin por para sobre entre"
        " desde hasta no sí"
        " si yo tú él ella nosotros ellos ellas me te se nos os le les mi mis tu tus su sus nuestro"
        " nuestra es son era"
        " eran fue ser estar está están estoy estaba hay he ha han hemos había tengo tiene tienen voy va"
        " vamos puede"
        " puedo quiero como cuando donde porque qué quién cómo cuándo dónde este esta esto estos ese esa"
        " eso más muy ya"
        " también solo todo todos toda algo nada aquí ahí bien así ni bueno".split()
    ),
    own=frozenset(
        "yo me mí mi mis nosotros nosotras nos nuestro nuestra nuestros nuestras estoy tengo soy voy"
        " quiero he hemos"
        " vamos tenemos somos".split()
    ),
    times=frozenset(
        "ayer hoy mañana anteayer anoche pasado pasada próximo próxima semana semanas mes meses año años"
        " día días noche"
        " tarde hace desde pronto recientemente lunes martes miércoles jueves viernes sábado domingo"
        " enero febrero marzo"
        " abril mayo junio julio agosto septiembre octubre noviembre diciembre primavera verano otoño"
        " invierno plazo".split()
    ),
    decided=(
        r"(?:hemos|he) (?:ya |finalmente |por fin )?(?:decidido|acordado|quedado en|elegido|optado por)",
        r"(?:decidimos|acordamos|quedamos en|elegimos|optamos por|decidí|elegí|opté por)",
        r"(?:está|queda|quedó) (?:ya )?(?:decidido|acordado)|se (?:decidió|acordó)",
        r"(?:vamos a|voy a) (?:usar|quedarnos con|quedarme con|ir con|optar por)|nos quedamos con"
        r"|me quedo con",
        r"(?:la|nuestra|mi) decisión (?:final )?(?:es|fue)(?! (?:aún|todavía|no|difícil))|decisión(?=:)"
        r"|el plan es",
    ),
    promised=(
        r"(?:yo )?(?:(?:te|le|les|lo|la|os|me|se) )*(?:enviaré|mandaré|haré|llamaré|escribiré|revisaré"
        r"|prepararé|traeré"
        r"|compraré|buscaré|preguntaré|avisaré|terminaré|entregaré|reservaré|arreglaré|confirmaré"
        r"|encargaré|pasaré"
        r"|ocuparé|llevaré|enviaremos|haremos|llamaremos|revisaremos|prepararemos|terminaremos"
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
        r"(?:hay|tengo|tenemos) que (?:decidir|averiguar|aclarar|definir)|por (?:decidir|definir"
        r"|confirmar)",
        r"(?:estoy|estamos|sigo) esperando|no está claro|sin (?:resolver|decidir)",
    ),
    wonders=(
        r"no (?:sé|sabemos|estoy segur[oa]|estamos segur[oa]s) (?:de )?(?:si|cómo|qué|cuándo|dónde|cuál"
        r"|por qué)",
        r"ni idea de|me pregunto|nos preguntamos",
    ),
    problem=(
        r"no (?:me |nos |le )?(?:funciona|arranca|carga|abre|compila|conecta|responde|inicia)",
        r"(?:un|el|este|los|varios) (?:error|errores|fallo|fallos|problema|problemas)|falla",
        r"se (?:cae|cuelga|bloquea|rompe|rompió|cayó|colgó)|(?:está|quedó) (?:roto|rota|atascad[oa])",
    ),
    solved=(
        r"(?:ya|ahora|por fin)(?: sí)? (?:me |nos )?(?:funciona|carga|arranca|compila)(?: bien)?",
        r"(?:eso|esto|así)(?: me| nos| ya)? (?:funcionó|lo (?:arregló|solucionó|resolvió)|solucionó"
        r"|resolvió|arregló)",
        r"(?:ya )?(?:está|quedó|queda) (?:ya )?(?:arreglad[oa]|solucionad[oa]|resuelt[oa])",
        r"(?:problema|error) (?:ya )?(?:arreglado|solucionado|resuelto)|todas las pruebas (?:ya )?pasan",
        r"(?:lo|la) (?:arreglé|solucioné|resolví|he arreglado|he solucionado)",
    ),
    concluded=(
        r"en (?:resumen|conclusión|definitiva)|para (?:resumir|concluir)|resumiendo|conclusión(?=:)"
        r"|resultado(?=:)",
        r"(?:causa|resultado|solución|motivo) (?:es|era|fue)|resultó que|resulta que|por (?:lo )?tanto",
        r"(?:te |le |les )?(?:recomiendo|sugiero|aconsejo)|mi (?:recomendación|consejo) es",
    ),
    unknown=(
        r"no (?:lo )?sé|ni idea|no estoy segur[oa]|difícil de decir",
        r"(?:lo |te lo )(?:miro|miraré|pregunto|preguntaré|averiguo|averiguaré|reviso|revisaré|consulto"
        r"|consultaré)",
        r"tengo que (?:preguntar|mirar|ver|pensar)",
    ),
    denied=(r"no|nunca|jamás|nadie|nada|ningun\w*|ni|sin|tampoco|casi|apenas",),
    supposed=(
        r"si|quizás?|tal vez|ojalá|supongamos|imagina|en caso|a lo mejor|habría\w*|hubiera\w*|hubiese\w*"
        r"|podría\w*"
        r"|por ejemplo|espero que",
    ),
    offers=(
        r"quieres que|te gustaría|quiere que|le gustaría|necesitas|hay algo más|algo más|en qué (?:puedo"
        r"|más)"
        r"|tienes (?:más|alguna)|te (?:parece|sirve|ayuda)|cómo puedo",
    ),
    greets=(
        r"hola|buen[oa]s(?: (?:días|tardes|noches))?|gracias|muchas gracias|adiós|hasta (?:luego|pronto"
        r"|mañana)|de nada"
        r"|claro|vale|ok|okay|genial|perfecto|sí|no|exacto|por supuesto|qué (?:bien|bueno|tal|chulo|guay)"
        r"|cómo estás"
        r"|saludos|un abrazo|suerte|felicidades|me alegro|buena pregunta|nos vemos|cuídate|excelente"
        r"|estupendo|entiendo"
        r"|de acuerdo",
    ),
    fills=(
        r"avísame|avíseme|no dudes en|no dude en|espero que (?:esto |te |le )*(?:ayude|sirva)|dime si"
        r"|déjame saber"
        r"|si (?:tienes|necesitas|tiene|necesita) (?:más |alguna |otra )|hazme saber"
        r"|un (?:cordial )?saludo|atentamente"
        r"|enviado desde mi|aquí (?:tienes|está|hay)\b[^.]*:$",
    ),
)
