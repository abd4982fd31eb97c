curl "$KINORA_URL/v1/audio/transcriptions" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -F model=asr-1 -F language=en -F response_format=srt \
  -F file=@ships.mp3
