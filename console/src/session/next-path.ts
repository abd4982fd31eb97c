/**
 * Where the page of the sign-in leads afterwards: a path of the console, or nothing. Anybody can write the parameter into
 * a link, and the router leaves the console for a URL with a host.
 */
export const readNextPath = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\/(?![/\\])[\u{21}-\u{7e}\u{a1}-\u{10ffff}]*$/u.test(value)
    ? value
    : undefined
