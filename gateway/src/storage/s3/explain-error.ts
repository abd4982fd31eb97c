import { MediaStoreUnavailable } from '../port/media-store.ts'
import type { Explanation } from '../port/store-problem.ts'
import type { Bucket } from './bucket-url.ts'
import { nameOf, statusOf } from './s3-connection.ts'

const certificate = (code: string): Explanation => ({
  cause: `the certificate of the endpoint cannot be used (${code})`,
  fix: 'use a certificate of a public authority, or let Node trust yours: NODE_EXTRA_CA_CERTS=<file>',
})

const pathStyleHint = ({ endpoint, isPathStyle }: Bucket) =>
  endpoint === undefined || isPathStyle ? '' : 'add path_style=true to MEDIA_STORE, or '

/** What went wrong, and what to do, by the name or the code of the error. `action` is the permission that was needed. */
const explanations: Record<string, (bucket: Bucket, error: Error, action: string) => Explanation> = {
  CredentialsProviderError: () => ({
    cause: 'no credentials were found',
    fix: 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the machine a role',
  }),
  InvalidAccessKeyId: () => ({
    cause: 'the server does not know the access key',
    fix: 'correct AWS_ACCESS_KEY_ID, or the endpoint in MEDIA_STORE',
  }),
  SignatureDoesNotMatch: () => ({
    cause: 'the secret key does not belong to the access key',
    fix: 'correct AWS_SECRET_ACCESS_KEY',
  }),
  ExpiredToken: () => ({ cause: 'the session token has expired', fix: 'renew AWS_SESSION_TOKEN' }),
  InvalidToken: () => ({ cause: 'the session token is invalid', fix: 'correct AWS_SESSION_TOKEN' }),
  NoSuchBucket: (bucket) => ({
    cause: `there is no bucket ${bucket.name}`,
    fix: `${pathStyleHint(bucket)}create the bucket, or correct its name in MEDIA_STORE`,
  }),
  AccessDenied: (bucket, error, action) => ({
    cause: `the credentials may not use ${action}`,
    fix: `allow ${action} on arn:aws:s3:::${bucket.name}${action === 's3:ListBucket' ? '' : `/${bucket.prefix}*`}`,
  }),
  RequestTimeTooSkewed: () => ({
    cause: 'the clocks of this machine and of the server differ by more than 15 minutes',
    fix: 'apt-get install chrony',
  }),
  QuotaExceeded: () => ({ cause: 'the quota of the bucket is used up', fix: 'raise it, or delete objects' }),
  ENOTFOUND: (bucket, error) => ({
    cause: error.message,
    fix: `${pathStyleHint(bucket)}correct ${bucket.endpoint === undefined ? 'the region' : 'the endpoint'} in MEDIA_STORE, or the DNS of this machine`,
  }),
  ECONNREFUSED: ({ endpoint }) => ({
    cause: `nothing listens at ${endpoint ?? 'the endpoint'}`,
    fix: 'start the server, or correct the endpoint in MEDIA_STORE',
  }),
  TimeoutError: ({ endpoint = 'AWS' }) => ({
    cause: `${endpoint} does not respond`,
    fix: 'correct the endpoint in MEDIA_STORE, or let the firewall pass this machine',
  }),
}

const aliases: Record<string, string> = {
  AllAccessDisabled: 'AccessDenied',
  EAI_AGAIN: 'ENOTFOUND',
  ETIMEDOUT: 'TimeoutError',
  EHOSTUNREACH: 'TimeoutError',
  ENETUNREACH: 'TimeoutError',
}

const regionErrors = [
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'IllegalLocationConstraintException',
]

/** Explains why a request to S3 failed. */
export const explainS3Error = (bucket: Bucket, thrown: unknown, action: string): Explanation => {
  const error = thrown instanceof MediaStoreUnavailable ? thrown.cause : thrown
  const { code = '', message, Region: region } = error as Error & { code?: string; Region?: string }
  const name = nameOf(error) ?? ''
  if (regionErrors.includes(name) || statusOf(error) === 301) {
    return {
      cause: `the bucket is in ${region ?? 'another region'}, and not in ${bucket.region ?? 'the region of the settings'}`,
      fix: `set region=${region ?? '<its region>'} in MEDIA_STORE`,
    }
  }
  // The response to a HEAD has no body with a name.
  const found = [name, code, ...(statusOf(error) === 403 ? ['AccessDenied'] : [])]
    .map((each) => explanations[aliases[each] ?? each])
    .find((each) => each !== undefined)
  if (found !== undefined) return found(bucket, error as Error, action)
  if (/CERT|SELF_SIGNED|VERIFY_LEAF|SSL|EPROTO/.test(code)) return certificate(code)
  return {
    cause: `${name === 'Error' ? '' : `${name}: `}${message}`,
    fix: 'see the log of the S3 server, and correct MEDIA_STORE',
  }
}
