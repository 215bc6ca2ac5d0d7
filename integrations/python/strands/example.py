import asyncio

from locihq import Loci
from locihq_strands import LociMemoryStore
from strands import Agent
from strands.memory import ExtractionConfig, InvocationTrigger, MemoryManager

with Loci() as loci:
    ada = loci.service().user("ada")
    store = LociMemoryStore(ada, extraction=ExtractionConfig(trigger=[InvocationTrigger()]))
    manager = MemoryManager(stores=[store], add_tool_config=True)

    asyncio.run(manager.add("Ada prefers replies in Dutch"))
    for entry in asyncio.run(manager.search("Which language does Ada prefer?")):
        print(entry.content)  # → Ada prefers replies in Dutch

    agent = Agent(memory_manager=manager)  # agent("Good morning!") asks the model of your choice
