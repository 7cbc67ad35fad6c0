"""Words by which the readers tell a whole value from one that is cut off or says nothing by itself."""

from __future__ import annotations

import re

CLAUSE_ENDS = frozenset(
    "and but or its thats theyre because cause cuz so since while when if as although though where who i i'm we even"
    " especially lately too also anymore now instead but which than is are was lol haha tho".split()
)
# What these mean is known only from the words before.
POINTING = frozenset(
    "em 'em ya u ur yall y'all it them him this that these those you your me us it's they're we're you're he's she's"
    " that's".split()
)
POINTING_IN_CLAUSE = frozenset("em 'em ya it them him this these those it's".split())
GERMAN_POINTING = frozenset("es das ihn dies".split())  # first in a clause
# After a phrase, one of these shows that the phrase was cut off in the middle: "I like sneakers that ...".
CUTS_OFF = frozenset(
    "or oder it them my your our his her their its the that who which where when they're we're you're it's".split()
)
# What is planned "for you" is meant for this conversation.
HOLLOW_CLAUSE = frozenset(("your", "you", "\x00"))
# A phrase that ends with one of these goes on, or means something before it.
UNFINISHED = frozenset("like to not of for with from than vs one ones until after before".split())
OF_QUESTIONS = frozenset("how what why if whether that where when who".split())  # after a gerund: "knowing how"
BEFORE_QUESTIONS = frozenset("see know ask tell decide wonder check".split())  # "to see if ..."
# "I don't like movies from the eighties" does not say that somebody dislikes movies.
GENERIC = frozenset("movies films music books songs people things bands shows games food sports stories stuff".split())
NARROWS = frozenset("from with about like by in on of for when where".split())
# At the end of a phrase these say how much, when or to whom, and before them others: "a lot", "am liebsten".
DEGREE = re.compile(
    r"more|most|much|lot|alot|deal|bit|to{2,}|enough|tho|here|any|other|actually|really|myself|then|though|either|as"
    r"|well|please|anyways?|honestly|personally|lately|together|already|better|best|again|maybe|sometimes|dude|bro|man"
    r"|guys|girl|once|occasionally|probably|even|liebsten|besten|sehr|besser|lieber|mucho|más|muchísimo|mejor|[^\w]+"
)
BEFORE_DEGREE = frozenset("a as pretty quite little great good the so very too way really lot am even far much".split())
ADMIRERS = frozenset("fan fans lover enthusiast nerd geek buff freak".split())  # no profession: "a Harry Potter fan"
NO_JOB = frozenset("former ex ehemaliger ex- terrible bad good great very really pretty such quite".split())
# In a name or a place: "this is Hilton Hotel", "I live in Main Road 5".
FIRMS = frozenset(
    "hotel hostel company corporation inc ltd gmbh restaurant airlines bank office shop store service resident".split()
)
STREETS = frozenset("road street avenue nr no straße strasse calle".split())
# Where somebody wishes to go has a name; "to visit the factory" is for today.
GOING = re.compile(
    r"(?:to )?(?:go to|visit(?:ing)?|travel to|explore|going to)\b"
    r"(?! (?:college|university|space|grad school|law school|med(?:ical)? school|art school|culinary school)\b)",
    re.IGNORECASE,
)
WORKS = frozenset(
    "app application website site webapp game book novel thesis dissertation paper tool library engine bot chatbot blog"
    " podcast startup platform tracker dashboard plugin extension portfolio film documentary album course prototype"
    " robot system compiler framework shop store cli api scraper package project memoir screenplay script newsletter"
    " database roman doktorarbeit masterarbeit bachelorarbeit webseite spiel buch projekt libro novela tesis juego"
    " aplicación web".split()
)
# Says that what stands before is taken back, and is no part of it.
TAKEN_BACK = re.compile(
    r"[ \t]*,?[ \t]+(?:after all|any ?more|any longer|anyway|instead|at the end|al final|nunca más|doch nicht"
    r"|nicht mehr)\b"
)
# A place or a taste is no one of these by itself: "I live in football country", "I like simple".
NO_PLACE = frozenset("country territory land nation traffic town".split())
BARE = frozenset(
    "simple easy short long big small cheap fast slow better best different similar old new good bad".split()
)
# "I work at a company" names none.
ANY_FIRM = frozenset(
    "company firm business organization organisation place startup empresa compañía firma negocio sitio".split()
)
