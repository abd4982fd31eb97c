curl "$KINORA_URL/vidB/v1/characters" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d "{\"from_task\": \"$TASK_ID\", \"timestamps\": \"1,3\"}"
