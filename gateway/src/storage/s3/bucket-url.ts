/** A place in an S3 bucket, as `s3://bucket/prefix?region=…`. */
export interface Bucket {
  name: string
  /** Empty, or ends with a slash. */
  prefix: string
  /** The SDK finds the region if it is undefined. */
  region: string | undefined
  /** Undefined for AWS. */
  endpoint: string | undefined
  /** The bucket is part of the path and not of the host name. */
  isPathStyle: boolean
  encryption: { algorithm: 'AES256' | 'aws:kms'; kmsKeyId: string | undefined } | undefined
}

/** A bucket, or the path of a directory. */
export type StorePlace = Bucket | string

export const bucketUrlForm =
  's3://bucket/prefix?region=…&endpoint=…&path_style=true&encryption=AES256|aws:kms&kms_key=…'

const parameters = ['region', 'endpoint', 'path_style', 'encryption', 'kms_key']
const namePattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const prefixPattern = /^[\w.-]+(?:\/[\w.-]+)*$/

const readFlag = (value: string | null): boolean => {
  if (value === null || value === 'false') return false
  if (value === 'true') return true
  throw new Error(`path_style must be true or false, got "${value}"`)
}

const readEndpoint = (value: string | null): string | undefined => {
  if (value === null) return undefined
  const url = URL.parse(value)
  if (url !== null && /^https?:$/.test(url.protocol)) return url.href.replace(/\/$/, '')
  throw new Error(`endpoint must be a URL such as https://s3.example.com, got "${value}"`)
}

const readEncryption = (algorithm: string | null, kmsKeyId: string | null): Bucket['encryption'] => {
  if (algorithm === null && kmsKeyId === null) return undefined
  if (algorithm === 'aws:kms') return { algorithm, kmsKeyId: kmsKeyId ?? undefined }
  if (kmsKeyId !== null) throw new Error('kms_key needs encryption=aws:kms')
  if (algorithm === 'AES256') return { algorithm, kmsKeyId: undefined }
  throw new Error(`encryption must be AES256 or aws:kms, got "${algorithm}"`)
}

/** Throws an error with the problem. */
export const parseBucketUrl = (text: string): Bucket => {
  const url = URL.parse(text)
  if (url?.protocol !== 's3:') throw new Error(`must be ${bucketUrlForm}, got "${text}"`)
  if (url.username !== '' || url.password !== '') {
    throw new Error('must not contain credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  }
  const unknown = [...url.searchParams.keys()].find((name) => !parameters.includes(name))
  if (unknown !== undefined) {
    throw new Error(`has the unknown parameter "${unknown}"; known are ${parameters.join(', ')}`)
  }
  if (!namePattern.test(url.hostname)) throw new Error(`has no valid bucket name, got "${url.hostname}"`)
  const prefix = url.pathname.replace(/^\/|\/$/g, '')
  if (prefix !== '' && !prefixPattern.test(prefix)) {
    throw new Error(`must have a prefix of letters, digits, "-", "_" and ".", got "${prefix}"`)
  }
  const read = (name: string) => url.searchParams.get(name)
  return {
    name: url.hostname,
    prefix: prefix === '' ? '' : `${prefix}/`,
    region: read('region') ?? undefined,
    endpoint: readEndpoint(read('endpoint')),
    isPathStyle: readFlag(read('path_style')),
    encryption: readEncryption(read('encryption'), read('kms_key')),
  }
}
