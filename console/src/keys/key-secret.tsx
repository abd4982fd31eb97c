/** Shows the secret of a new or rotated key, with a request that uses it. */
import { useTexts } from '../i18n/texts.ts'
import { SecretSheet } from '../ui/secret/secret-sheet.tsx'
import { FirstRequest } from './first-request.tsx'
import type { Key, Manager } from './key-access.ts'
import { keyTexts } from './texts.ts'

export interface IssuedSecret {
  key: Key
  secret: string
  isRotated: boolean
}

const writeExamples = ({ kind, scopes }: Key, secret: string, tryIt: string) => {
  const { origin } = location
  if (kind === 'admin')
    return [
      { name: tryIt, text: `curl ${origin}/admin/v1/overview \\\n  -H "Authorization: Bearer ${secret}"` },
      { name: '.env', text: `KINORA_URL=${origin}\nOPERATOR_KEY=${secret}` },
    ]
  const isReader = scopes?.includes('read') === true
  return [
    {
      name: tryIt,
      text: `curl ${origin}/v1/${isReader ? 'models' : 'me'} \\\n  -H "Authorization: Bearer ${secret}"`,
    },
    { name: '.env', text: `KINORA_URL=${origin}\nKINORA_API_KEY=${secret}` },
    { name: 'OpenAI', text: `OPENAI_BASE_URL=${origin}/openai/v1\nOPENAI_API_KEY=${secret}` },
    {
      name: 'TypeScript',
      text: `import { Kinora } from '@kinora/client'\n\n// KINORA_URL and KINORA_API_KEY are in the environment.\nconst kinora = new Kinora()\nconst me = await kinora.me.get()`,
    },
  ]
}

interface KeySecretProps {
  issued: IssuedSecret
  manager: Manager
  onClose: () => void
}

export const KeySecret = ({ issued: { key, secret, isRotated }, manager, onClose }: KeySecretProps) => {
  const { secret: texts, unnamed } = useTexts(keyTexts)
  const name = key.name || unnamed
  return (
    <SecretSheet
      title={isRotated ? texts.rotated(name) : texts.title(name)}
      secret={secret}
      examples={writeExamples(key, secret, texts.tryIt)}
      onClose={onClose}
    >
      {/* The previous secret of a rotated key has been used before. */}
      {!isRotated && <FirstRequest keyRow={key} manager={manager} />}
    </SecretSheet>
  )
}
