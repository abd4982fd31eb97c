/** URLs of PostgreSQL with one host or several, as libpq has them: postgres://user@a:5432,b:5432/kinora. */
const form = /^(postgres(?:ql)?:\/\/(?:[^/]*@)?)([^/?#]+)(.*)$/s

const divide = (url: string) => {
  const [, before = '', hosts = '', after = ''] = form.exec(url) ?? []
  return { before, hosts: hosts.split(','), after }
}

/** One URL for each host. */
export const hostUrlsOf = (url: string): string[] => {
  const { before, hosts, after } = divide(url)
  return hosts.length === 1 ? [url] : hosts.map((host) => `${before}${host}${after}`)
}

/** What is wrong with a list of hosts. */
export const hostsProblem = (url: string): string | undefined => {
  const { hosts, after } = divide(url)
  if (hosts.length === 1) return undefined
  const wrong = hosts.find((host) => !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i.test(host))
  if (wrong === undefined) return undefined
  const problem = 'must name each host as in postgres://user@db-1:5432,db-2:5432/kinora'
  // With a slash in a password, what looks like a host is a part of the password.
  const mayBeSecret = after.includes('@') || /:(?!\d+$)/.test(wrong)
  return mayBeSecret
    ? `${problem}, with "/" and "," in a password as %2F and %2C`
    : `${problem}, got the host "${wrong}"`
}

/** The URL with another password; undefined if it has no user or no host. */
export const withPassword = (url: string, password: string): string | undefined => {
  const parsed = URL.parse(hostUrlsOf(url)[0] ?? '')
  if (parsed === null) return undefined
  parsed.password = encodeURIComponent(password)
  if (parsed.password === '') return undefined
  return parsed.href.replace(`@${parsed.host}`, `@${divide(url).hosts.join()}`)
}

/** The URL without its password, and the password. */
export const splitPassword = (url: string): { url: string; password?: string } => {
  const { before, hosts, after } = divide(url)
  const [, user = '', password] = /^(.*?\/\/[^:@]*):(.*)@$/s.exec(before) ?? []
  return password === undefined
    ? { url }
    : { url: `${user}@${hosts.join()}${after}`, password: decodeURIComponent(password) }
}
