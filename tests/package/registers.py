#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""registers.py header|ipxact|peakrdl|peakrdl-ipxact FILE: the registers that a file says, a line a field.

header reads the macros of sq_regs.h, ipxact the XML as it stands; the others by the tools of PeakRDL, where they are
installed. Lines: name, offset, first bit, width, and but for the header what software may do and what it says."""
import re
import sys
import xml.etree.ElementTree


def of_header(path):
    macro = dict(re.findall(r'^#define SQ_REG_(\w+) (0x[0-9a-f]+|\d+)u', open(path).read(), re.M))
    for name, offset in macro.items():
        if not name.endswith('_OFFSET'):
            continue
        reg = name[:-7]
        fields = [k[len(reg) + 1:-6] for k in macro if k.startswith(reg + '_') and k.endswith('_SHIFT') and
                  not any(o != name and o.endswith('_OFFSET') and k.startswith(o[:-7] + '_') and len(o) > len(name) for o in macro)]
        for f in fields or ['VALUE']:
            low, mask = (int(macro[f'{reg}_{f}_{x}'], 0) for x in ('SHIFT', 'MASK')) if fields else (0, 2**32 - 1)
            yield reg, int(offset, 0), f, low, mask.bit_length()


def of_ipxact(path):
    n = {'i': 'http://www.accellera.org/XMLSchema/IPXACT/1685-2014'}
    for r in xml.etree.ElementTree.parse(path).findall('.//i:register', n):
        def text(e, name):
            found = e.find('i:' + name, n)
            return '' if found is None else found.text
        for f in r.findall('i:field', n):
            access = {'read-only': 'r', 'write-only': 'w', 'read-write': 'rw'}[text(f, 'access')]
            yield (text(r, 'name'), int(text(r, 'addressOffset'), 0), text(f, 'name'), int(text(f, 'bitOffset')),
                   int(text(f, 'bitWidth')), access, text(f, 'modifiedWriteValue') == 'oneToClear', text(f, 'description'))


def of_peakrdl(path, is_ipxact):
    import systemrdl
    compiler = systemrdl.RDLCompiler()
    if is_ipxact:
        from peakrdl_ipxact import IPXACTImporter
        IPXACTImporter(compiler).import_file(path)
    else:
        compiler.compile_file(path)
    top = compiler.elaborate()
    for r in top.top.descendants():
        if not isinstance(r, systemrdl.node.RegNode):
            continue
        for f in r.fields():
            sw = f.get_property('sw').name
            clears = f.get_property('onwrite')
            yield (r.inst_name, r.absolute_address, f.inst_name, f.low, f.width, sw, clears is not None and clears.name == 'woclr',
                   f.get_property('desc'))


KIND, PATH = sys.argv[1:]
ROWS = {'header': of_header, 'ipxact': of_ipxact, 'peakrdl': lambda p: of_peakrdl(p, False),
        'peakrdl-ipxact': lambda p: of_peakrdl(p, True)}[KIND](PATH)
for row in ROWS:
    print(*row, sep='\t')
