"""A JUnit file, as scripts/total_results counts it. Standard library alone."""
import xml.etree.ElementTree as ElementTree


def write_results(path, suite, cases, seconds, skipped=None):
    """cases: {name: what is wrong, or None}; skipped: why all of them were."""
    root = ElementTree.Element("testsuite", name=suite, time=f"{seconds:.1f}")
    for name, fault in cases.items():
        node = ElementTree.SubElement(root, "testcase", name=name)
        if fault:
            ElementTree.SubElement(node, "failure", message=fault)
    if skipped:
        ElementTree.SubElement(ElementTree.SubElement(root, "testcase", name=suite), "skipped", message=skipped)
    ElementTree.ElementTree(root).write(path)
