/** The request of the form as code, in a tab for each language. */
import { useDeferredValue, useState } from 'react'

import { useTexts } from '../../i18n/texts.ts'
import { Card } from '../../ui/card.tsx'
import { Segmented } from '../../ui/choice.tsx'
import { Code } from '../../ui/code.tsx'
import { writeSamples } from './audio-code.ts'
import { audioTexts } from './texts.ts'

import styles from './code-card.module.css'

export const CodeCard = (request: Parameters<typeof writeSamples>[0]) => {
  const texts = useTexts(audioTexts)
  const [chosen, setChosen] = useState('curl')
  const samples = writeSamples(useDeferredValue(request))
  const shown = samples.find(({ label }) => label === chosen) ?? samples[0]
  return (
    <Card title={texts.code.title} isFlush>
      <div className={styles['languages']}>
        <Segmented
          label={texts.code.language}
          options={samples.map(({ label }) => ({
            value: label,
            label: label.replace('kinora (command line)', 'CLI'),
          }))}
          value={shown?.label ?? ''}
          onChange={setChosen}
        />
      </div>
      {shown !== undefined && <Code text={shown.source} name={shown.label} />}
    </Card>
  )
}
