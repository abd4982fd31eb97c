curl "$KINORA_URL/v1/videos/$TASK_ID/remix" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"prompt": "The same scene at night, under stars"}'
