const longestMessage = 200

/**
 * Makes the function that every foreign text passes through on its way into a failure's message. It takes
 * out the given secrets, and whatever looks like an address, a credential or a query string.
 */
export function redactor(secrets: string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return (text) => {
    let clean = text
      .replaceAll(/\p{Cc}+/gu, ' ')
      .replaceAll(/\b[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'<>]+/gi, '[url]')
      .replaceAll(/\bbearer\s+[^\s"']+/gi, '[key]')
      .replaceAll(/\b(?:sk|pk|key)-[\w-]{6,}\**[\w-]*/gi, '[key]')
    for (const secret of known) clean = clean.replaceAll(secret, '[hidden]')
    clean = clean.replaceAll(/\?[^\s"'<>?]{1,300}=[^\s"'<>?]*/g, '?[query]')
    return clean.length > longestMessage ? `${clean.slice(0, longestMessage)}…` : clean
  }
}
