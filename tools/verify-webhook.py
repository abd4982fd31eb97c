"""Verifies a webhook with the openai library. Run by prove-webhooks.ts."""

import json

from openai import InvalidWebhookSignatureError, OpenAI

message = json.load(open("/tmp/message.json"))
body, headers = message["body"], message["headers"]


def is_valid(body, headers, secret):
    client = OpenAI(api_key="unused", webhook_secret=secret)
    try:
        client.webhooks.verify_signature(body, headers)
        return True
    except InvalidWebhookSignatureError:
        return False


for secret in message["secrets"]:
    assert is_valid(body, headers, secret), "a valid signature was rejected"
    assert not is_valid(body + " ", headers, secret), "a changed body was accepted"
    assert not is_valid(body, message["old_headers"], secret), "an old message was accepted"
    assert not is_valid(body, {**headers, "webhook-id": "evt_2"}, secret), "another id was accepted"
assert not is_valid(body, headers, "whsec_" + "A" * 44), "another secret was accepted"
print("openai for Python verifies current and previous secrets: ok")
