"""Invented conversations in which something was done that worked, and others that look like it.

A turn begins with who it is: U the person, A the assistant, B another person, C a command that an agent runs, R what it
printed. ``goal`` is how the question begins and ``steps`` how many there are; None in a trap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from appliance.types import Message


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation and the procedure that it holds; None for none."""

    name: str
    turns: tuple[str, ...]
    goal: str | None = None
    steps: int = 0

    def messages(self) -> list[Message]:
        return list(_messages(self.turns))


def _messages(turns: tuple[str, ...]) -> Iterator[Message]:
    among_people = any(turn.startswith("B ") for turn in turns)
    call = None
    for number, turn in enumerate(turns, 1):
        who, text = turn[0], turn[2:]
        metadata: dict[str, object] = {}
        reply = author = None
        if who == "C":
            metadata, call, text = (
                {"tools": [{"kind": "call", "name": "Bash"}]},
                f"x{number}",
                f"Bash\ncommand: {text}",
            )
        elif who == "R":
            metadata, reply = {"tools": [{"kind": "result", "name": "Bash"}]}, call
        elif among_people:
            author = {"U": "Ana", "B": "Ben"}[who]
        role = {"U": "user", "B": "user", "A": "assistant"}.get(who, "tool")
        yield Message(f"m{number}", "s1", f"x{number}", role, author, None, text, reply, metadata)  # type: ignore[arg-type]


ROUTER = "A 1. Hold the reset button for ten seconds.\n2. Wait until the light is green.\n3. Log in with the default password."
DOCKER = "A Run this:\n\n```bash\ndocker system prune -a\ndocker compose up --build\n```\n\nIt rebuilds everything."
PIP = "A Run `python -m pip install --upgrade pip setuptools` and try again."
DRUCKER = "A 1. Öffne die Systemeinstellungen.\n2. Entferne den Drucker aus der Liste.\n3. Füge ihn über die IP-Adresse neu hinzu."
IMPRESORA = "A 1. Apaga la impresora.\n2. Borra la cola de impresión.\n3. Enciéndela de nuevo."

WORKED = (
    Talk("list", ("U How do I reset my router to factory settings?", ROUTER, "U That worked, thank you!"), "How do I reset", 3),
    Talk("code", ("U How can I rebuild my containers from scratch?", DOCKER, "U Great, it's running now."), "How can I rebuild", 1),
    Talk("inline", ("U pip says:\nERROR: Could not build wheels for lxml", PIP, "U Worked perfectly."), "ERROR: Could", 1),
    Talk(
        "traceback",
        (
            'U I get this:\nTraceback (most recent call last):\n  File "a.py", line 3\nModuleNotFoundError: No module named x',
            "A The package is missing.\n\n```\npip install x\n```",
            "U That fixed it.",
        ),
        "Traceback",
        1,
    ),
    Talk(
        "second try",
        (
            "U How do I free up space on my boot partition?",
            "A 1. Open the cleaner.\n2. Press Free.",
            "U That didn't work, it is still full.",
            "A 1. List the kernels with `dpkg -l`.\n2. Remove the old ones.\n3. Run `update-grub`.",
            "U Thanks, that did the trick!",
        ),
        "How do I free",
        3,
    ),
    Talk(
        "a question between",
        (
            "U How do I turn on dark mode in the editor?",
            "A 1. Open the settings file.\n2. Set `theme` to `dark`.\n3. Restart the editor.",
            "U Where is the settings file?",
            "A In the folder `.config/editor` of your home.",
            "U Got it working, thanks.",
        ),
        "How do I turn on",
        3,
    ),
    Talk(
        "a detail between",
        (
            "U How do I mount the share on Linux?",
            "A Which protocol does it use, and what is the server's name?",
            "U SMB, the server is called attic.",
            "A ```\nsudo apt install cifs-utils\nsudo mount -t cifs //attic/photos /mnt\n```",
            "U Yes, it works now!",
        ),
        "How do I mount",
        1,
    ),
    Talk("what steps", ("U What are the steps to renew the certificate?", ROUTER, "U Everything works again, thanks a lot."), "What are the steps", 3),
    Talk("command", ("U What's the command to list open ports?", "A Use `ss -tulpn` as root.", "U Perfect, that worked."), "What's the command", 1),
    Talk("no more errors", ("U How do I fix the linker error in my build?", DOCKER, "U No more errors now, thank you."), "How do I fix", 1),
    Talk("gone", ("U npm ERR! code ERESOLVE\nnpm ERR! could not resolve", "A Type `npm install --legacy-peer-deps`.", "U The error is gone."), "npm ERR!", 1),
    Talk("did steps", ("U How should I clean the coffee machine?", ROUTER, "U I did that and everything works again."), "How should I clean", 3),
    Talk("headings", ("U How do I export my contacts?", "A ### Step 1: Open the menu\nIt is at the top.\n\n### Step 2: Choose Export\nPick CSV.", "U It worked!"), "How do I export", 2),
    Talk("bold", ("U How to convert a video to mp4 with ffmpeg?", "A **1.** Install ffmpeg.\n**2.** Run it on the file.", "U Success! The file is here."), "How to convert", 2),
    Talk("tests", ("U How do I get the suite green again?", DOCKER, "U All tests pass now."), "How do I get", 1),
    Talk("up", ("U How do I start the wiki after the upgrade?", DOCKER, "U It's up and running, great."), "How do I start", 1),
    Talk("people", ("U How do I unlock the shed door when it sticks?", "B 1. Pull the handle up.\n2. Turn the key twice.", "U That worked, you're a star"), "How do I unlock", 2),
    Talk("your fix", ("U How can I stop the popup from opening?", PIP, "U Your suggestion worked right away."), "How can I stop", 1),
    Talk("later", ("U How do I pair the headphones?", ROUTER, "U I'll try it tonight.", "A Good luck!", "U It works, thanks."), "How do I pair", 3),
    Talk("two", ("U How do I pair the speaker?", ROUTER, "U That worked.", "U Nice weather today.", "A Indeed."), "How do I pair", 3),
    Talk("drucker", ("U Wie kann ich den Drucker neu einrichten?", DRUCKER, "U Super, funktioniert!"), "Wie kann ich", 3),
    Talk("klappt", ("U Wie installiere ich das Paket ohne Rechte?", "A Führe `pip install --user paket` aus.", "U Danke, jetzt klappt es."), "Wie installiere", 1),
    Talk("läuft", ("U Wie setze ich den Server zurück?", DOCKER, "U Perfekt, läuft wieder."), "Wie setze", 1),
    Talk("befehl", ("U Wie lautet der Befehl, um den Dienst neu zu starten?", "A Tippe `systemctl restart dienst` ein.", "U Hat geklappt, danke."), "Wie lautet", 1),
    Talk("fehler weg", ("U Was muss ich tun, damit das Update durchläuft?", DRUCKER, "U Der Fehler ist weg."), "Was muss ich", 3),
    Talk("man", ("U Wie entfernt man Kalk aus dem Wasserkocher?", DRUCKER, "U Das hat super funktioniert."), "Wie entfernt", 3),
    Talk("impresora", ("U ¿Cómo puedo vaciar la cola de la impresora?", IMPRESORA, "U ¡Funcionó, gracias!"), "¿Cómo puedo", 3),
    Talk("ahora", ("U ¿Cómo instalo el paquete en Ubuntu?", "A Ejecuta `sudo apt install paquete` en la terminal.", "U Perfecto, ahora funciona."), "¿Cómo instalo", 1),
    Talk("ya va", ("U ¿Cómo se configura el correo en el móvil?", IMPRESORA, "U Genial, ya funciona."), "¿Cómo se configura", 3),
    Talk("resuelto", ("U ¿Qué comando borra la caché?", "A Usa `npm cache clean --force`.", "U Problema resuelto, gracias."), "¿Qué comando", 1),
    Talk("sirvió", ("U ¿Qué tengo que hacer para abrir el puerto?", IMPRESORA, "U Eso sirvió, muchas gracias."), "¿Qué tengo", 3),
    Talk(
        "agent",
        (
            "U Set up the development database for me, please.",
            "C ls",
            "R a.txt",
            "C createdb dev",
            "R ",
            "C python manage.py migrate",
            "R Operations to perform: all\nApplied 14 migrations.",
            "A The database is ready.",
            "U It works, thanks.",
        ),
        "Set up the development",
        2,
    ),
    Talk(
        "agent goes on",
        (
            "U Install the project and run its tests.",
            "C pip install -e .",
            "R Successfully installed shop-1.0",
            "C pytest -q",
            "R 41 passed in 3.20s",
            "A All 41 tests pass.",
            "U Now add a page for the opening hours.",
            "A Done.",
        ),
        "Install the project",
        2,
    ),
    Talk(
        "agent fails first",
        (
            "U How do I publish the docs?",
            "C mkdocs deploy",
            "R Error: no such command deploy\nexit code: 2",
            "C mkdocs gh-deploy",
            "R INFO - Your documentation should shortly be available\nexit code: 0",
            "A Published.",
            "U Yes, it's working.",
        ),
        "How do I publish",
        1,
    ),
    Talk(
        "agent by codes",
        (
            "U Rotate the signing keys of the staging server.",
            "C ./rotate.sh staging",
            "R rotated\nProcess exited with code 0",
            "C ./restart.sh staging",
            "R restarted\nProcess exited with code 0",
            "A The keys are rotated.",
            "U Good. Write that down in the runbook.",
        ),
        "Rotate the signing",
        2,
    ),
    Talk("apostrophe", ("U How do I make the fan quieter?", ROUTER, "U Yes, it’s working now"), "How do I make", 3),
)  # fmt: skip

TRAPS = (
    Talk("only thanks", ("U How do I reset my router?", ROUTER, "U Thanks a lot!")),
    Talk("will try", ("U How do I reset my router?", ROUTER, "U Great, I'll try that and hope it works.")),
    Talk("failed", ("U How do I reset my router?", ROUTER, "U That didn't work.")),
    Talk("not yet", ("U How do I reset my router?", ROUTER, "U It's not working yet.")),
    Talk("but", ("U How do I reset my router?", ROUTER, "U It worked but only for a minute.")),
    Talk("another error", ("U How can I rebuild my containers?", DOCKER, "U That worked, now I get another error though.")),
    Talk("something else", ("U How can I rebuild my containers?", DOCKER, "U I tried something else and that worked.")),
    Talk("myself", ("U How do I fix the blue screen?", ROUTER, "U Never mind, I figured it out myself, it works now.")),
    Talk("instead", ("U How do I fix the blue screen?", ROUTER, "U I reinstalled the driver instead, that worked.")),
    Talk("friend", ("U How do I fix the sink?", ROUTER, "U My neighbour fixed it, everything works again.")),
    Talk("by itself", ("U How do I fix the wifi?", ROUTER, "U It works again, by itself.")),
    Talk("if", ("U How do I fix the wifi?", ROUTER, "U If that works I owe you a beer.")),
    Talk("would", ("U How do I fix the wifi?", ROUTER, "U That would have worked last year.")),
    Talk("asks", ("U How do I fix the wifi?", ROUTER, "U And you are sure this works?")),
    Talk("does it", ("U How do I fix the wifi?", ROUTER, "U Has that worked for others?")),
    Talk("quote", ("U How do I fix the wifi?", ROUTER, 'U The label says "it works now" in big letters.')),
    Talk("no steps", ("U How do I cheer up my sister?", "A Talk to her, she will be glad.", "U That worked!")),
    Talk("choices", ("U How do I speed up my laptop?", "A Here are some options:\n1. More memory.\n2. A new disk.\n3. A new laptop.", "U That worked.")),
    Talk("causes", ("U How do I fix the noise?", "A Possible causes:\n1. The fan.\n2. The disk.", "U That fixed it.")),
    Talk("no question", ("U I had soup today.", "A 1. Soup is warm.\n2. Soup is good.", "U It works for me now.")),
    Talk("feel", ("U How do you feel about trains?", ROUTER, "U That worked.")),
    Talk("another topic", ("U How do I reset my router?", ROUTER, "U What's the capital of Peru?", "A Lima.", "U And of Chile?", "A Santiago.", "U That worked as a quiz.")),
    Talk("steps failed, no others", ("U How do I reset my router?", ROUTER, "U Still the same error.", "A Strange. Have you asked the provider?", "U Everything works now.")),
    Talk("past", ("U How do I reset my router?", ROUTER, "U It worked yesterday.")),
    Talk("used to", ("U How do I reset my router?", ROUTER, "U That used to work.")),
    Talk("stopped", ("U How do I reset my router?", ROUTER, "U It stopped working completely.")),
    Talk("sarcasm", ("U How do I reset my router?", ROUTER, "U Great, that worked... not.")),
    Talk("partly", ("U How do I reset my router?", ROUTER, "U That almost worked.")),
    Talk("another asks", ("U How do I open the jar?", "B 1. Warm the lid.\n2. Turn.", "B That worked at my place.")),
    Talk("nicht", ("U Wie kann ich den Drucker einrichten?", DRUCKER, "U Das funktioniert leider nicht.")),
    Talk("hoffentlich", ("U Wie kann ich den Drucker einrichten?", DRUCKER, "U Hoffentlich klappt das.")),
    Talk("anders", ("U Wie kann ich den Drucker einrichten?", DRUCKER, "U Ich habe es anders gelöst, jetzt läuft es.")),
    Talk("danke", ("U Wie kann ich den Drucker einrichten?", DRUCKER, "U Danke, sehr hilfreich!")),
    Talk("wie geht es", ("U Wie geht es dir?", DRUCKER, "U Läuft.")),
    Talk("no funciona", ("U ¿Cómo puedo vaciar la cola?", IMPRESORA, "U No funciona, sigue igual.")),
    Talk("ojalá", ("U ¿Cómo puedo vaciar la cola?", IMPRESORA, "U Ojalá funcione.")),
    Talk("otra cosa", ("U ¿Cómo puedo vaciar la cola?", IMPRESORA, "U Hice otra cosa y funcionó.")),
    Talk("gracias", ("U ¿Cómo puedo vaciar la cola?", IMPRESORA, "U Muchas gracias.")),
    Talk("cómo estás", ("U ¿Cómo te llamas?", IMPRESORA, "U Eso funciona.")),
    Talk("agent only looks", ("U Tell me what is in this folder.", "C ls -la", "R a.txt", "C cat a.txt", "R hello", "A A file.", "U Thanks, it works.")),
    Talk("agent fails", ("U Install the project and test it.", "C pip install -e .", "R ERROR: no matching distribution\nexit code: 1", "C pytest", "R 3 failed", "A It fails.", "U Now try with another Python.")),
    Talk("agent is stopped", ("U Clean up the build folder please.", "C rm -rf build", "R exit code: 0", "C rm -rf dist", "R exit code: 0", "A Done.", "U No, stop! Undo that.")),
    Talk("agent goes on without a word of success", ("U Restart the two services of the shop.", "C ./restart a", "R ok", "C ./restart b", "R ok", "A Restarted.", "U Next, look at the logs.")),
    Talk("agent's last fails", ("U Deploy the shop to staging.", "C make build", "R exit code: 0", "C make push", "R exit code: 0", "C make deploy", "R Error: timeout\nexit code: 1", "A The deploy failed.", "U Look into the timeout.")),
    Talk("agent is rejected", ("U Install the linter for me.", "C npm i -g linter", "R The user doesn't want to proceed with this tool use.", "A Understood.", "U It works without.")),
    Talk("story", ("U How do I bake bread?", ROUTER, "U " + "We went to the market and met a friend of mine. " * 12 + "That worked.")),
    Talk("worked out", ("U How do I ask for a raise?", ROUTER, "U I worked on it all day.")),
    Talk("error again", ("U ERROR: Could not build wheels", PIP, "U ERROR: Could not build wheels for lxml")),
)  # fmt: skip

QUESTIONS = {
    True: (
        "How do I reset the router?", "how can we deploy without downtime", "how to descale the kettle", "How did we fix the printer last year?",
        "what was the command to restart nginx", "What steps do I need for the visa?", "What are the steps to publish?", "is there a way to merge two pdfs",
        "I forgot how to rebuild the index", "Do you know how to change the filter?", "how should I prune the roses", "what's the best way to sharpen a knife",
        "Wie kann ich den Router zurücksetzen?", "wie starte ich den Server neu", "Wie haben wir den Drucker repariert?", "Wie entkalkt man den Wasserkocher?",
        "welcher Befehl leert den Cache", "Was muss ich tun, damit das Update läuft?", "wie lautet der Befehl für den Neustart", "Wie ich den Index neu bauen kann?",
        "¿Cómo puedo reiniciar el router?", "cómo instalo el paquete", "¿Cómo arreglamos la impresora?", "¿Cómo se limpia la cafetera?",
        "qué comando reinicia el servidor", "¿Cuál es la mejor manera de afilar un cuchillo?", "¿Qué hay que hacer para renovar el pasaporte?", "como puedo abrir el puerto",
    ),
    False: (
        "How do you feel today?", "How was the trip?", "How many eggs are in it?", "How old is Marta?", "When did we fix the printer?", "Who knows how the printer works?",
        "I know how to swim.", "how do I look", "How can I help you?", "What did Ana say about the router?", "Where is the manual?", "How did we meet?",
        "Wie geht es dir?", "Wie heißt der Hund?", "Wie war der Urlaub?", "Wie alt ist Marta?", "Wie sehe ich aus?", "Wie viele Gäste kommen?", "Wie heiße ich?",
        "Wie waren wir letztes Jahr?", "¿Cómo estás?", "¿Cómo se llama el perro?", "¿Cómo fue el viaje?", "¿Cómo me veo?", "¿Cómo puedo ayudarte?", "¿Cómo nos conocimos?",
        "deadline", "",
    ),
}  # fmt: skip
"""What asks how something is done, and what does not."""
