curl "$KINORA_URL/v1/chat/completions" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "model": "chat-4o-audio-preview",
    "messages": [{"role": "user", "content": "Say hello in one sentence."}]
  }'
