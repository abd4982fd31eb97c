curl "$KINORA_URL/v1/videos" \
  -H "Authorization: Bearer $KINORA_API_KEY" \
  -F model=vidB-2 -F seconds=10 -F size=1280x720 \
  -F prompt="A whale swimming through a calm ocean at sunset" \
  -F webhook_url=https://example.com/webhooks
