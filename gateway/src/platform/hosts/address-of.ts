/** Only host, port and path, because the rest of a URL may contain a password. */
export const addressOf = (url: string): string | undefined => {
  const parsed = URL.parse(url)
  return parsed === null || parsed.host === ''
    ? undefined
    : `${parsed.host}${parsed.pathname}`.replace(/\/$/, '')
}
