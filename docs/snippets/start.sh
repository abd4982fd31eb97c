npx kinora dev
