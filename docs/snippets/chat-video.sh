curl --no-buffer "$KINORA_URL/v1/chat/completions" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "model": "vidB-2",
    "stream": true,
    "messages": [{"role": "user", "content": "A lighthouse in a storm"}]
  }'
