/** What a `User-Agent` says about the browser, in words that people know. */
const browsers: [RegExp, string][] = [
  [/Edg\/(\d+)/, 'Edge'],
  [/OPR\/(\d+)/, 'Opera'],
  [/Firefox\/(\d+)/, 'Firefox'],
  [/(?:Headless)?Chrome\/(\d+)/, 'Chrome'],
  [/Version\/(\d+).*Safari/, 'Safari'],
]
const systems: [RegExp, string][] = [
  [/Windows/, 'Windows'],
  [/iPhone|iPad/, 'iOS'],
  [/Mac OS X/, 'macOS'],
  [/Android/, 'Android'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
]

/** Undefined if it is no browser that is known. */
export const describeBrowser = (
  userAgent: string | null,
): { browser: string; system: string | undefined } | undefined => {
  if (userAgent === null) return undefined
  for (const [pattern, name] of browsers) {
    const version = pattern.exec(userAgent)?.[1]
    if (version === undefined) continue
    return {
      browser: `${name} ${version}`,
      system: systems.find(([each]) => each.test(userAgent))?.[1],
    }
  }
  return undefined
}
