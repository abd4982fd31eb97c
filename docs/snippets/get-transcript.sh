curl "$KINORA_URL/v1/audio/transcription-tasks/$TASK_ID/transcript" \
  -H "Authorization: Bearer $KINORA_API_KEY"
