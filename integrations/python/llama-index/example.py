from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from locihq import Loci
from locihq_llama_index import LociMemoryBlock

with Loci() as loci:
    ada = loci.service().user("ada")
    ada.remember("Ada prefers replies in Dutch")

    # What is too old for the conversation goes into the block, and comes back when it answers a question.
    memory = Memory.from_defaults(token_limit=4_000, memory_blocks=[LociMemoryBlock(user=ada)])
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)  # your model
    print(engine.chat("Which language does Ada prefer?"))  # → <memory>Ada prefers replies in Dutch</memory>
