/** The pages of `docs` for callers. `tools/build.ts` copies them into the package. */
export const guideNames = ['guide.md', 'self-service.md', 'statements.md', 'webhooks.md', 'events.md']
