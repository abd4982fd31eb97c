curl "$KINORA_URL/v1/audio/speech" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
    "model": "chat-4o-mini-tts-2025-12-15",
    "voice": "nova",
    "input": "The ships left before first light."
  }' \
  --output ships.mp3
