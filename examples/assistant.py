"""An assistant that remembers. Run it twice: what you tell it now, it knows the next time.

It needs a local model, named in the settings (llm.base_url and llm.model), and the OpenAI client (pip install openai).
"""

from openai import OpenAI

from appliance import Appliance

with Appliance.open() as memory:
    llm = memory.settings.llm
    client = OpenAI(base_url=llm.base_url, api_key=llm.api_key or "none")
    session = memory.sessions.create(title="Assistant")
    while text := input("> ").strip():
        known = session.context(text, budget=2000).messages
        session.add("user", text)
        asked = [*known, {"role": "user", "content": text}]
        answer = client.chat.completions.create(model=llm.model, messages=asked).choices[0].message.content
        session.add("assistant", answer)
        print(answer)
