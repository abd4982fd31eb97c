curl --no-buffer "$KINORA_URL/v1/videos/$TASK_ID/events" \
  -H "Authorization: Bearer $KINORA_API_KEY"
