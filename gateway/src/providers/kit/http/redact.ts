const messageCharactersMax = 200

/**
 * Creates the function that redacts vendor texts before they enter failure messages and recorded exchanges. It removes
 * the given secrets, and everything that looks like a URL, a credential, an account or a query string.
 */
export function redactor(secrets: string[]): (text: string, charactersMax?: number) => string {
  const known = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length)
  return (text, charactersMax = messageCharactersMax) => {
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
    // PostgreSQL refuses half a surrogate pair in jsonb.
    return (clean.length > charactersMax ? `${clean.slice(0, charactersMax)}…` : clean).toWellFormed()
  }
}

/** False for words joined by dashes or slashes and for UUIDs, which are identifiers and not secrets. */
function looksRandom(run: string): boolean {
  const mixes = (text: string) => /\d/.test(text) && /[a-z]/i.test(text)
  if (run.split(/[-_/]/).some((chunk) => chunk.length >= 20 && mixes(chunk))) return true
  return !run.includes('/') && /\d/.test(run) && /[a-z]/.test(run) && /[A-Z]/.test(run)
}
