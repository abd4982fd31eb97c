/** Buckets of the S3 server of this run. */
import { randomUUID } from 'node:crypto'

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { inject } from 'vitest'

const { endpoint, accessKeyId, secretAccessKey } = inject('objectStore')

/** Puts the credentials where the SDK of the service finds them. */
export const useCredentials = (): void => {
  process.env['AWS_ACCESS_KEY_ID'] = accessKeyId
  process.env['AWS_SECRET_ACCESS_KEY'] = secretAccessKey
}

export const client = new S3Client({
  endpoint,
  region: 'us-east-1',
  forcePathStyle: true,
  credentials: { accessKeyId, secretAccessKey },
})

/** Creates a bucket and returns its name, and the value of `MEDIA_STORE` for it. */
export const createBucket = async (
  through = endpoint,
  settings: { ObjectLockEnabledForBucket?: boolean } = {},
): Promise<{ name: string; url: string }> => {
  const name = `test-${randomUUID()}`
  await client.send(new CreateBucketCommand({ Bucket: name, ...settings }))
  return { name, url: `s3://${name}/media?endpoint=${encodeURIComponent(through)}&path_style=true` }
}
