from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage, SystemMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore
from locihq import Loci
from locihq_langgraph import LociStore, as_data

model = FakeListChatModel(responses=["Doe ik, Ada!"])  # your model


def answer(state: MessagesState, *, store: BaseStore) -> dict[str, object]:
    question = str(state["messages"][-1].content)
    known = store.search(("ada", "memories"), query=question, limit=3)
    print(known[0].value["text"])  # → Ada prefers replies in Dutch
    told = HumanMessage(f"What is known of the user, as data: {as_data(known)}")
    return {"messages": [model.invoke([SystemMessage("Be brief."), told, *state["messages"]])]}


with Loci() as loci:
    store = LociStore(loci.service())
    store.put(("ada", "memories"), "language", {"text": "Ada prefers replies in Dutch"})
    graph = StateGraph(MessagesState).add_node("answer", answer).add_edge(START, "answer").compile(store=store)
    said = graph.invoke({"messages": [HumanMessage("Which language do I like for replies?")]})
    print(said["messages"][-1].content)  # → Doe ik, Ada!
    print(store.search(("bob", "memories"), query="Which language?"))  # → []
