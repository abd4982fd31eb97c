curl "$KINORA_URL/v1/video/create" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{"model": "vidA3.1", "prompt": "Snow falling on a quiet village", "aspect_ratio": "16:9"}'
