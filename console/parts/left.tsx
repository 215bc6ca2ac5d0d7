// Why something left, as a tag.

import { leftOf } from './decided.ts'
import { Icon } from './icon.tsx'

export function LeftTag({ code }: { code: string }) {
  const { word, icon } = leftOf(code)
  return (
    <span className="tag" title={code}>
      <Icon name={icon} />
      {word}
    </span>
  )
}
