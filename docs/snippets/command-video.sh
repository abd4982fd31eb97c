npx kinora video create "A whale swimming through a calm ocean at sunset" -o whale.mp4
