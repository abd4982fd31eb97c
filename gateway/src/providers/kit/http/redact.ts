const longestMessage = 200

/**
 * Makes the function that every foreign text passes through on its way into a failure's message or a note of an
 * exchange. It takes out the given secrets, and whatever looks like an address, a credential, an account or a query
 * string.
 */
export function redactor(secrets: string[]): (text: string, longest?: number) => string {
  const known = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return (text, longest = longestMessage) => {
    let clean = text
      .replaceAll(/\p{Cc}+/gu, ' ')
      .replaceAll(/\b[a-z][a-z0-9+.-]{0,15}:\/\/[^\s"'<>]+/gi, '[url]')
      .replaceAll(/\bbearer\s+[^\s"']+/gi, '[key]')
      .replaceAll(/\b(?:sk|pk|key)-[\w-]{6,}\**[\w-]*/gi, '[key]')
    for (const secret of known) clean = clean.replaceAll(secret, '[hidden]')
    clean = clean
      .replaceAll(/\?[^\s"'<>?]{1,300}=[^\s"'<>?]*/g, '?[query]')
      .replaceAll(/[\w.%+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+/g, '[mail]')
      .replaceAll(/\b(?:org|proj|acct|user|team|cus)[-_](?=[\w-]*\d)[\w-]{6,}/gi, '[account]')
      .replaceAll(/\b((?:organization|project|account)s?)\/[\w-]{3,}/gi, '$1/[account]')
      .replaceAll(/[\w+/-]{32,}={0,2}/g, (run) => (looksRandom(run) ? '[token]' : run))
    // A cut through an emoji would leave half a character, which PostgreSQL's jsonb refuses.
    return (clean.length > longest ? `${clean.slice(0, longest)}…` : clean).toWellFormed()
  }
}

/** Neither words joined by dashes or slashes nor a UUID, which names a thing and opens none. */
function looksRandom(run: string): boolean {
  const mixes = (text: string) => /\d/.test(text) && /[a-z]/i.test(text)
  if (run.split(/[-_/]/).some((chunk) => chunk.length >= 20 && mixes(chunk))) return true
  return !run.includes('/') && /\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run)
}
