"""Models, and the services around them."""

from __future__ import annotations

from interpose.reading.secrets.kinds.kind import Kind

KINDS = (
    Kind("anthropic-admin-key", r"sk-ant-admin[0-9]{2}-[0-9A-Za-z_-]{80,}"),
    Kind("anthropic-key", r"sk-ant-api[0-9]{2}-[0-9A-Za-z_-]{80,}"),
    Kind("anthropic-session-token", r"sk-ant-(?:oat|ort|sid)[0-9]{2}-[0-9A-Za-z_-]{60,}"),
    Kind("anyscale-key", r"esecret_[0-9A-Za-z]{24,}"),
    Kind("cerebras-key", r"csk-[0-9a-z]{48}"),
    Kind("cursor-key", r"key_[0-9a-f]{64}"),
    Kind("deepseek-key", r"sk-[0-9a-f]{32}\b", needs="dl"),
    Kind("e2b-key", r"e2b_[0-9a-f]{40}"),
    Kind("elevenlabs-key", r"sk_[0-9a-f]{48}\b"),
    Kind("firecrawl-key", r"fc-[0-9a-f]{32}\b"),
    Kind("fireworks-key", r"fw_[0-9A-Za-z]{22,24}\b", needs="dlu"),
    Kind("groq-key", r"gsk_[0-9A-Za-z]{52}"),
    Kind("helicone-key", r"sk-helicone-(?:[a-z]+-)?[0-9a-z]{7}-[0-9a-z]{7}-[0-9a-z]{7}-[0-9a-z]{7}"),
    Kind("huggingface-org-token", r"api_org_[A-Za-z]{34}\b"),
    Kind("huggingface-token", r"hf_[0-9A-Za-z]{34,37}\b", needs="lu"),
    Kind("jina-key", r"jina_[0-9a-f]{32}[0-9A-Za-z_-]{28}"),
    Kind("langfuse-key", r"[sp]k-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    Kind("langsmith-key", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Kind("mem0-key", r"m0-[0-9A-Za-z]{40}\b"),
    Kind("modal-secret", r"a[ks]-[0-9A-Za-z]{22}\b", needs="dlu"),
    Kind("nvidia-key", r"nvapi-[0-9A-Za-z_-]{60,}"),
    Kind("openai-key", r"sk-(?:(?:proj|svcacct|service|admin|None)-)?[0-9A-Za-z_-]{20,}T3BlbkFJ[0-9A-Za-z_-]{20,}"),
    Kind("openai-project-key", r"sk-(?:proj|svcacct|admin)-[0-9A-Za-z_-]{48,}", needs="dlu"),
    Kind("openrouter-key", r"sk-or-v1-[0-9a-f]{64}"),
    Kind("perplexity-key", r"pplx-[0-9A-Za-z]{48}"),
    Kind("pinecone-key", r"pcsk_[0-9A-Za-z]{5,6}_[0-9A-Za-z]{60,}"),
    Kind("replicate-token", r"r8_[0-9A-Za-z]{37}\b"),
    Kind("runpod-key", r"rpa_[0-9A-Za-z]{40,}"),
    Kind("stability-key", r"sk-[0-9A-Za-z]{48}\b", needs="dlu"),
    Kind("tavily-key", r"tvly-(?:dev-|prod-)?[0-9A-Za-z]{32}"),
    Kind("together-key", r"tgp_v1_[0-9A-Za-z_-]{43}"),
    Kind("voyage-key", r"pa-[0-9A-Za-z_-]{43}\b", needs="dlu"),
    Kind("wandb-key", r"wandb_v1_[0-9A-Za-z_-]{40,}"),
    Kind("xai-key", r"xai-[0-9A-Za-z]{70,}"),
)  # fmt: skip
