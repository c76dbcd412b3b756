"""The proxy in front of models: what a model wants to do is judged before its agent hears of it.

raw_events   a stream of events, with the bytes that they came in            (knows nothing of Interpose)
wire_values, call_smells   values that can be read in one way; what looks like a call (knows nothing of Interpose)
anthropic_messages, openai_chat, openai_responses, response_items, gemini_content   where each API has its calls
found_calls  what dialects and the gate say to each other
dialects     which API a path speaks; other_paths is for those that speak none
held_streams a stream on its way to the agent: calls wait, everything else passes
request_results, result_memory   results on their way to the model, each looked at once
proxy_gate   what is asked of the one flow                                   (the engine; knows nothing of HTTP)
relay        requests and answers over HTTP; upstreams and upstream_headers are the way to the model's server
serving      all of it put together, alone or around a command
"""

# What other rooms may import: modules, named and not imported, so that each is loaded by who needs it.
__all__ = ["serving", "upstreams"]
