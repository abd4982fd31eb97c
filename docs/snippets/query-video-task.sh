curl "$KINORA_URL/v1/video/query?id=$TASK_ID" \
  -H "Authorization: Bearer $KINORA_API_KEY"
