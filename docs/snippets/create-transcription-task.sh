curl "$KINORA_URL/v1/audio/transcription-tasks" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -F model=asr-1 -F language=en \
  -F file=@ships.mp3
