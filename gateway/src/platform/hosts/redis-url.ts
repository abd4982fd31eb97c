/** Sentinels: redis+sentinel://user:password@host:26379,host:26379/<name of the primary>/<database>?sentinel_password=… */
const sentinelForm =
  /^redis\+sentinel:\/\/(?:([^:@/]*)(?::([^@/]*))?@)?([^/?@]+)\/([\w.-]+)(?:\/(\d{1,3}))?(\?.*)?$/
const sentinelPort = 26_379

interface SentinelUrl {
  sentinels: { host: string; port: number }[]
  /** How the sentinels name the primary. */
  name: string
  db: number
  username?: string
  password?: string
  sentinelPassword?: string
}

/** Undefined for the URL of a server. */
export const parseSentinelUrl = (url: string): SentinelUrl | undefined => {
  const match = sentinelForm.exec(url)
  if (match === null) return undefined
  const [, user = '', password = '', hosts = '', name = '', db = '0', query = ''] = match
  const sentinels = hosts.split(',').map((host) => /^([\w.-]+)(?::(\d{1,5}))?$/.exec(host))
  if (sentinels.includes(null)) return undefined
  const sentinelPassword = new URLSearchParams(query).get('sentinel_password')
  return {
    sentinels: sentinels.map((found) => ({
      host: found?.[1] ?? '',
      port: Number(found?.[2] ?? sentinelPort),
    })),
    ...{ name, db: Number(db) },
    ...(user !== '' && { username: decodeURIComponent(user) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(sentinelPassword !== null && { sentinelPassword }),
  }
}

/** What is wrong with the URL of sentinels. */
export const redisUrlProblem = (url: string): string | undefined =>
  url.startsWith('redis+sentinel:') && parseSentinelUrl(url) === undefined
    ? 'must name the sentinels and the primary, as in redis+sentinel://:password@sentinel-1:26379,sentinel-2:26379/kinora'
    : undefined
