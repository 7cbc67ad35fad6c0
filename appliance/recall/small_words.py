"""The small words of English, German and Spanish: those that point to something, and those that tell nothing."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from appliance.store.stopwords import STOP_WORDS


@dataclass(frozen=True, slots=True)
class Language:
    """The small words of a language. ``pointing`` stand for something; those among them that are ``articles`` too do
    so only where no noun follows. ``own`` are of who asks: "my deadline" needs no turns before it."""

    small: Set[str]
    pointing: Set[str]
    articles: Set[str]
    own: Set[str]


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH = Language(
    small=STOP_WORDS | word_set("many much long again else still"),
    pointing=word_set(
        """
        it its that this those these they them their theirs he him his himself she her hers herself one ones
        there then
        """
    ),
    articles=word_set("that this those these one its his her their there"),
    own=word_set("i me my mine we us our ours"),
)
GERMAN = Language(
    small=word_set(
        """
        ab aber alle als am an auch auf aus bei bis da damals dann das dass dem den denn der des die dies
        diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es
        eigentlich für gibt hab habe haben hat hatte hatten im in ist ja kann kein man mal mehr mit muss
        nach nicht noch nun nur oder schon sein sich sie sind so soll um und vom von vor war waren was weil
        wenn werden wie wieder will wird wo wollte wurde zu zum zur über wann wer warum woher wohin welche
        welcher welches wem wen wieso weshalb womit wofür ich mir mich wir uns ihm ihn ihr
        """
    ),
    pointing=word_set(
        """
        er sie es ihn ihm ihr ihre ihren ihrem seine seinen seinem sein den dem der die das dies dieser
        diese dieses jene denen deren dessen da dort dafür davon damit dazu daran darauf darin dabei dahin
        daher damals
        """
    ),
    articles=word_set(
        """
        der die das den dem dies diese dieser dieses jene ihr ihre ihren ihrem seine seinen seinem sein
        """
    ),
    own=word_set(
        """
        ich mein meine meinen meinem meiner wir unser unsere unseren unserem mir mich uns
        """
    ),
)
SPANISH = Language(
    small=word_set(
        """
        a al algo ante como con cuando de del desde donde e el ella en entre era eran es esa ese eso esta
        este esto está están estaba fue ha han hay he la las le les lo los más muy no nos o otra otro para
        pero por porque que se ser si sin sobre son su sus también te tiene tu un una uno y ya qué cuándo
        cuánto cuánta cuántos cuántas quién quiénes dónde cómo cuál cuáles me mi yo
        """
    ),
    pointing=word_set(
        """
        él ella ello ellos ellas eso esa ese esos esas esto esta este estos estas aquel aquella aquello lo
        la los las le les allí ahí entonces
        """
    ),
    articles=word_set("la los las esa ese esos esas esta este estos estas aquel aquella"),
    own=word_set("yo mi mis me nosotros nuestra nuestro nuestras nuestros"),
)
LANGUAGES = (ENGLISH, GERMAN, SPANISH)
