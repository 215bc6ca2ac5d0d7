from locihq import Loci, User
from locihq_pydantic_ai import LociToolset
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

with Loci() as loci:
    ada = loci.service().user("ada")
    ada.remember("Ada prefers replies in Dutch")

    model = TestModel(call_tools=["recall_memories"])  # your model
    toolset = LociToolset[User](lambda ctx: ctx.deps)
    agent = Agent(model, deps_type=User, toolsets=[toolset], instructions="Recall before you answer.")
    print(toolset.tools.keys())  # → dict_keys(['recall_memories', 'remember'])
    print(agent.run_sync("Which language does Ada prefer?", deps=ada).output)
